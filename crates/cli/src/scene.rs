//! The scene that a command works on, with the overrides of the command line.

use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Result as TensorResult};
use fingertip::description::Scene;
use fingertip::scenes::{Cubes, Pills};
use fingertip::show::Source;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Overrides};

use super::names;

/// Which scene, and what is different in it.
#[derive(clap::Args)]
pub struct SceneArgs {
    /// Scene file (TOML or MJCF), or the name of a scene: `fingertip scene list` lists them.
    pub scene: PathBuf,

    /// Numbers that replace the scene's, as in a line of `step`: '{"params": {"kappa": 1e4}, "mass": {"ball": 0.3}}'.
    #[arg(long = "with", value_name = "JSON", default_value = "{}")]
    overrides: String,
}

/// The device and the number type of a command.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// Device: cpu, or cuda:N, the GPU with this number (in builds with the feature `cuda`).
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,

    /// Single precision; worlds that it does not solve are solved again in double precision.
    #[arg(long)]
    pub f32: bool,
}

impl TargetArgs {
    /// The type of the numbers.
    pub fn dtype(&self) -> DType {
        if self.f32 { DType::F32 } else { DType::F64 }
    }

    /// Is it what steps are compiled for if nothing is said?
    pub fn is_default(&self) -> bool {
        self.device == "cpu" && !self.f32
    }
}

/// Warnings that are printed, at most.
const WARNINGS: usize = 5;

impl SceneArgs {
    /// Reads the file and compiles it; warnings go to stderr.
    pub fn load(&self) -> Result<(Source, Quasidynamic), Box<dyn std::error::Error>> {
        let (source, step) = self.load_quietly()?;
        warn(&step.model().warnings);
        Ok((source, step))
    }

    /// Reads the file and compiles it without the model's own warnings; missing shapes and hovering bodies are still reported on stderr.
    pub fn load_quietly(&self) -> Result<(Source, Quasidynamic), Box<dyn std::error::Error>> {
        let source = names::scene(&self.scene)?;
        warn(&source.scene.missing_shapes());
        let step = compile(&source.scene, &self.overrides()?)?;
        for warning in step.model().hover_warnings(step.parameters())? {
            eprintln!("warning: {warning}");
        }
        Ok((source, step))
    }

    /// The step elsewhere, or in other numbers.
    pub fn compile_for(&self, source: &Source, target: &TargetArgs) -> TensorResult<Quasidynamic> {
        compile_in(&source.scene, &self.overrides()?, target.dtype(), &fingertip::device(&target.device)?)
    }

    /// The overrides of parameters and options that the command line gives.
    pub fn overrides(&self) -> fingertip::Result<Overrides> {
        Overrides::from_json(&self.overrides).map_err(|error| error.within("--with"))
    }
}

/// The step as native code, if that is asked for.
#[cfg(feature = "native")]
pub fn natively(step: Quasidynamic, is_wanted: bool) -> TensorResult<Quasidynamic> {
    if is_wanted { step.native() } else { Ok(step) }
}

/// The error of a build without native code when native code is asked for.
#[cfg(not(feature = "native"))]
pub const NOT_NATIVE: &str = "--native: expected a build with the feature `native`, got one without it";

/// The step, unless native code is asked for.
#[cfg(not(feature = "native"))]
pub fn natively(step: Quasidynamic, is_wanted: bool) -> TensorResult<Quasidynamic> {
    if is_wanted {
        candle_core::bail!("{NOT_NATIVE}");
    }
    Ok(step)
}

/// Says the first warnings, and how many there are besides.
pub fn warn(warnings: &[String]) {
    warnings.iter().take(WARNINGS).for_each(|warning| eprintln!("warning: {warning}"));
    if warnings.len() > WARNINGS {
        eprintln!("warning: {} more of these, see `fingertip inspect`", warnings.len() - WARNINGS);
    }
}

/// Things in scenes that are made on the spot, at most.
const MOST_THINGS: usize = 200;
/// Pills farther apart than this take no part, m.
const NEAR: f64 = 0.1;

/// The name of a scene that is made on the spot: its kind, and how many things it is to have.
fn parts(path: &Path) -> Option<(&str, Option<&str>)> {
    let name = path.to_str().filter(|_| !path.is_file())?;
    let (kind, count) = name.split_once(':').map_or((name, None), |(kind, count)| (kind, Some(count)));
    ["cubes", "pills"].contains(&kind).then_some((kind, count))
}

/// Is this the name of a scene that is made on the spot?
pub fn is_made(path: &Path) -> bool {
    parts(path).is_some()
}

/// The scene that is made on the spot if it has this name.
pub fn made(path: &Path) -> fingertip::Result<Option<Source>> {
    let source =
        |(kind, count): (&str, _)| Ok(Source { name: kind.to_owned(), text: String::new(), scene: make(kind, count)? });
    parts(path).map(source).transpose()
}

fn make(kind: &str, count: Option<&str>) -> fingertip::Result<Scene> {
    let number = |count: &str| {
        let number = count.parse().ok().filter(|n| (1..=MOST_THINGS).contains(n));
        let message = || format!("expected a number from 1 to {MOST_THINGS}, got \"{count}\"");
        number.ok_or_else(|| fingertip::Error::Invalid { place: kind.to_owned(), message: message() })
    };
    let count = count.map(number).transpose()?;
    if kind == "cubes" {
        let default = Cubes::default();
        return Ok(Cubes { count: count.unwrap_or(default.count), ..default }.scene());
    }
    let default = Pills::default();
    let n = count.unwrap_or(default.ellipsoids + default.capsules);
    let mut scene = Pills { ellipsoids: n.div_ceil(2), capsules: n / 2, ..default }.scene();
    scene.params.contact_distance = Some(NEAR);
    Ok(scene)
}

/// The step of a scene with overrides.
pub fn compile(scene: &Scene, overrides: &Overrides) -> TensorResult<Quasidynamic> {
    compile_in(scene, overrides, DType::F64, &Device::Cpu)
}

/// Compiles a scene with its overrides to a step of a number type on a device.
pub fn compile_in(scene: &Scene, overrides: &Overrides, dtype: DType, device: &Device) -> TensorResult<Quasidynamic> {
    let mut scene = scene.clone();
    scene.params = overrides.params(&scene.params)?;
    let model = Model::new(&scene, dtype, device)?;
    let parameters = overrides.parameters(&model, &model.parameters)?;
    Quasidynamic::new(&model, &parameters)
}
