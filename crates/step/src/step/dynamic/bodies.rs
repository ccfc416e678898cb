//! The bodies of a second-order step: which motions their masses couple, and their dynamics with the parameters'
//! numbers.

use candle_core::{Result, Tensor};

use crate::dynamics::{Dynamics, inertias_of};
use crate::kinematics::Tree;
use crate::model::Model;
use crate::parameters::Parameters;
use crate::tensor::index;

/// The degrees of freedom that M couples, as entries (i, j), j ≤ i: those that move one body with mass. The diagonal
/// comes first.
pub(super) fn coupled(tree: &Tree) -> Vec<(usize, usize)> {
    let mut there = vec![false; tree.nv * tree.nv];
    for body in (0..tree.bodies.len()).filter(|&body| tree.bodies[body].inertia.is_some()) {
        let dofs: Vec<usize> = tree.path(body).into_iter().map(|screw| tree.screw_dof[screw]).collect();
        for &i in &dofs {
            dofs.iter().for_each(|&j| there[i * tree.nv + j] = true);
        }
    }
    let off_diagonal = (0..tree.nv).flat_map(|i| (0..i).map(move |j| (i, j)));
    let off_diagonal = off_diagonal.filter(|&(i, j)| there[i * tree.nv + j]);
    (0..tree.nv).map(|i| (i, i)).chain(off_diagonal).collect()
}

/// The model's dynamics with the parameters' gravity and offsets, and with their masses and inertias for the bodies
/// that they cover. Other bodies, those of commanded joints, keep the masses and inertias of their description.
pub(super) fn dynamics(model: &Model, parameters: &Parameters) -> Result<Dynamics> {
    let worlds = parameters.tensors().into_iter().map(|t| t.dim(0)).collect::<Result<Vec<_>>>()?;
    let worlds = worlds.into_iter().max().unwrap_or(1);
    parameters.check(&model.parameters, worlds)?;
    let (n_bodies, n) = (model.tree.bodies.len(), model.inertial.len());
    let dynamics = Dynamics::new(&model.tree, [0.0; 3], model.dtype, &model.device)?
        .with_gravity(&parameters.gravity)?
        .with_offsets(&parameters.offsets.narrow(1, 0, 3 * n_bodies)?.contiguous()?)?;
    if n == 0 {
        return Ok(dynamics);
    }
    let com = parameters.offsets.narrow(1, 3 * (n_bodies + model.n_front_frames()), 3 * n)?;
    let (mass, inertia) = (&parameters.mass, &parameters.inertia);
    let rows = mass.dim(0)?.max(inertia.dim(0)?).max(com.dim(0)?);
    let wide = |t: &Tensor| t.broadcast_as((rows, t.dim(1)?))?.contiguous();
    // From xx, yy, zz, xy, xz, yz to xx, xy, xz, yy, yz, zz.
    let order = index([0, 3, 4, 1, 5, 2].into_iter(), &model.device)?;
    let inertia = wide(inertia)?.reshape((rows, n, 6))?.index_select(&order, 2)?;
    let own = inertias_of(&wide(mass)?, &wide(&com)?.reshape((rows, n, 3))?, &inertia)?;
    let described = dynamics.inertias();
    let all = Tensor::cat(&[wide(described)?, own], 1)?;
    let numbers = described.dim(1)? / dynamics.bodies().len();
    let places = dynamics.bodies().iter().enumerate().flat_map(|(k, body)| {
        let place = model.inertial.iter().position(|other| other == body);
        let first = numbers * place.map_or(k, |place| dynamics.bodies().len() + place);
        first..first + numbers
    });
    let inertias = all.index_select(&index(places, &model.device)?, 1)?;
    dynamics.with_inertias(&inertias)
}
