//! The step for a line's overrides.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use candle_core::Result as TensorResult;
use fingertip::Overrides;
use fingertip::description::{Params, Scene};
use fingertip::show::{FarWatch, Source};
use fingertip::step::Quasidynamic;

use crate::scene;

/// Models that are kept: as many as a run may mix without compiling any of them twice.
const KEPT: usize = 16;

/// The step of the scene, and of the models that overrides have asked for.
pub struct Models {
    scene: Scene,
    /// What says that a step moves something too far.
    watch: FarWatch,
    /// The overrides of the command line, which apply to all lines.
    overrides: Overrides,
    base: Quasidynamic,
    /// Are steps compiled to native code?
    native: bool,
    others: Mutex<VecDeque<Quasidynamic>>,
}

impl Models {
    pub fn new(source: Source, overrides: Overrides, base: Quasidynamic, native: bool) -> TensorResult<Self> {
        let base = scene::natively(base, native)?;
        let watch = FarWatch::new(base.model(), base.parameters())?;
        Ok(Self { scene: source.scene, watch, overrides, base, native, others: Mutex::default() })
    }

    pub fn watch(&self) -> &FarWatch {
        &self.watch
    }

    pub fn base(&self) -> &Quasidynamic {
        &self.base
    }

    /// The step with a line's overrides.
    pub fn with(&self, line: &Overrides) -> TensorResult<Quasidynamic> {
        if *line == Overrides::default() {
            return Ok(self.base.clone());
        }
        // h, ε and κ are parameters of any model; other numbers ask for a model of their own.
        let own = &self.base.model().params;
        let params = Params { h: own.h, epsilon: own.epsilon, kappa: own.kappa, ..line.params(own)? };
        let base = if params == *own { self.base.clone() } else { self.other(params)? };
        base.with_parameters(&line.parameters(base.model(), base.parameters())?)
    }

    fn other(&self, params: Params) -> TensorResult<Quasidynamic> {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = others.iter().find(|step| step.model().params == params) {
            return Ok(found.clone());
        }
        let mut scene = self.scene.clone();
        scene.params = params;
        let model = self.base.model();
        let step = scene::compile_in(&scene, &self.overrides.beside_params(), model.dtype, &model.device)?;
        let step = scene::natively(step, self.native)?;
        others.truncate(KEPT - 1);
        others.push_front(step.clone());
        Ok(step)
    }
}
