//! The Python module `fingertip._fingertip`: the simulator on numpy arrays.
//!
//! It stands on the library's calls on plain numbers. What Python's users see is documented where it is defined here;
//! the files `*.pyi` next to the package give its types.

mod arrays;
mod collision;
mod command_line;
mod device;
mod dynamic;
mod error;
mod far;
mod feel;
mod fit;
mod follow;
mod grasp;
mod kinematics;
mod model;
mod mpc;
mod parameters;
mod parts;
mod pickled;
mod pool;
mod quasidynamic;
mod results;
mod rigid;
mod show;
mod touch;
mod xla;

/// A large batch's rows would go back to the system after each call, and come back page by page.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What `fingertip` and its modules take their names from.
#[pyo3::pymodule]
mod _fingertip {
    use fingertip::Parameters;
    use fingertip::solve::Status;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::collision::{Distance, Shape, distance};
    #[pymodule_export]
    use super::command_line::_run;
    #[pymodule_export]
    use super::device::{DeviceArray, DeviceGradient, DeviceLinearization, DeviceRollout, DeviceStep, OnDevice};
    #[pymodule_export]
    use super::dynamic::Dynamic;
    #[pymodule_export]
    use super::error::{_panic, Error, Unsolved};
    #[pymodule_export]
    use super::feel::Smoother;
    #[pymodule_export]
    use super::fit::{_fit, Fit};
    #[pymodule_export]
    use super::follow::{Followed, Follower, follow_motion};
    #[pymodule_export]
    use super::grasp::{Effort, Grasp, Outcome, close, trial};
    #[pymodule_export]
    use super::kinematics::{Reached, inverse_kinematics};
    #[pymodule_export]
    use super::model::{_thing, Coordinate, Model};
    #[pymodule_export]
    use super::mpc::{Answer, Controller, Cost, Episode, Errors, Goal, Plan, Plant, Progress, Task};
    #[pymodule_export]
    use super::parts::_parts;
    #[pymodule_export]
    use super::pickled::_restore;
    #[pymodule_export]
    use super::quasidynamic::{_seconds, Quasidynamic};
    #[pymodule_export]
    use super::results::{
        DynamicGradient, DynamicLinearization, DynamicRollout, DynamicStep, Gradient, Hold, Linearization, Rollout,
        Solves, Step,
    };

    #[pymodule_export]
    use super::rigid::Dynamics;
    #[pymodule_export]
    use super::show::{_replay, Live, Replay};
    #[pymodule_export]
    use super::touch::{Taxels, Wrenches};

    #[pymodule_export]
    use super::xla::{_xla_function, _xla_handler};

    #[pymodule_init]
    fn init(module: &Bound<PyModule>) -> PyResult<()> {
        let statuses = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|code| Status::from_code(code).name());
        module.add("STATUSES", pyo3::types::PyTuple::new(module.py(), statuses)?)?;
        module.add("PARAMETERS", pyo3::types::PyTuple::new(module.py(), Parameters::NAMES)?)?;
        module.add("_CUDA", cfg!(feature = "cuda"))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
