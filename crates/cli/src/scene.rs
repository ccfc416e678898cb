//! The scene that a command works on, with the overrides of the command line.

use std::path::PathBuf;

use candle_core::{DType, Device, Result as TensorResult};
use fingertip::description::{Articulation, Object, ObjectBody, Scene};
use fingertip::show::Source;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Overrides, Parameters};

use super::message::warn;
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

impl SceneArgs {
    /// Reads the file and compiles it; warnings go to stderr.
    pub fn load(&self) -> Result<(Source, Quasidynamic), Box<dyn std::error::Error>> {
        let (source, model, parameters) = self.model()?;
        warn(&model.warnings);
        let step = Quasidynamic::new(&model, &parameters)?;
        Ok((source, step))
    }

    /// Reads the file and makes the model of it that a step is compiled for, without the model's own warnings; what the
    /// model lacks and what hovers is still said on stderr.
    pub fn model(&self) -> Result<(Source, Model, Parameters), Box<dyn std::error::Error>> {
        let source = names::scene(&self.scene)?;
        note_size(&source.scene);
        let (model, parameters) = model_in(&source.scene, &self.overrides()?, DType::F64, &Device::Cpu)?;
        warn(&model.hover_warnings(&parameters)?);
        Ok((source, model, parameters))
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

/// Shapes from which on all pairs of them take more than a moment.
const MANY_SHAPES: usize = 1000;

/// Says that a scene of very many shapes takes its time.
fn note_size(scene: &Scene) {
    let links = |of: &Articulation| of.links.iter().map(|link| link.collisions.len()).sum::<usize>();
    let of_object = |object: &Object| match &object.body {
        ObjectBody::Rigid { collisions, .. } => collisions.len(),
        ObjectBody::Articulated { articulation, .. } => links(articulation),
    };
    let robots = scene.robots.iter().map(|robot| links(&robot.articulation));
    let n: usize = scene.objects.iter().map(of_object).chain(robots).sum();
    if n > MANY_SHAPES {
        let pairs = n * (n - 1) / 2;
        eprintln!(
            "note: {n} shapes are up to {pairs} pairs, which takes a while; [[pair]] with enabled = false leaves pairs out"
        );
    }
}

/// The step of a scene with overrides.
pub fn compile(scene: &Scene, overrides: &Overrides) -> TensorResult<Quasidynamic> {
    compile_in(scene, overrides, DType::F64, &Device::Cpu)
}

/// Compiles a scene with its overrides to a step of a number type on a device.
pub fn compile_in(scene: &Scene, overrides: &Overrides, dtype: DType, device: &Device) -> TensorResult<Quasidynamic> {
    let (model, parameters) = model_in(scene, overrides, dtype, device)?;
    Quasidynamic::new(&model, &parameters)
}

/// The model of a scene with its overrides, and its parameters.
fn model_in(scene: &Scene, overrides: &Overrides, dtype: DType, device: &Device) -> TensorResult<(Model, Parameters)> {
    let mut scene = scene.clone();
    scene.params = overrides.params(&scene.params)?;
    let model = Model::new(&scene, dtype, device)?;
    let parameters = overrides.parameters(&model, &model.parameters)?;
    Ok((model, parameters))
}
