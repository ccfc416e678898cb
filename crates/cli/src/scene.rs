//! The scene that a command works on, with the overrides of the command line.

use std::path::PathBuf;

use candle_core::{DType, Device, Result as TensorResult};
use fingertip::description::Scene;
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
