//! Coulomb's law in the place of its relaxation: closed forms, all modes of small problems, recorded motions of another
//! simulator, how often it settles.

mod closed_forms;
mod modes;
mod settling;
mod transitions;

use fingertip::description::{Friction, Scene};

use support::single::compile;

fn with_coulomb(mut scene: Scene) -> Scene {
    scene.params.friction = Friction::Coulomb;
    scene
}
