//! The parameters of a model, as tensors that gradients can reach.

use candle_core::{Device, Result, Tensor, bail};

use crate::contact::{BodyShape, PairTable};
use crate::kinematics::Tree;
use crate::tensor::beside;
use crate::tensor::guarded;
use fingertip_scene::{Scene, Shape};

macro_rules! parameters {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Everything that the step depends on besides q and u. Each tensor is a matrix with one row per world or one
        /// row for all. Any of them may be replaced; a tracked tensor gets a gradient.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct Parameters {
            $($(#[$doc])* pub $field: Tensor,)*
        }

        impl Parameters {
            /// Names of the fields, in order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];

            /// The tensors, in the order of [`Parameters::NAMES`].
            pub fn tensors(&self) -> Vec<&Tensor> {
                vec![$(&self.$field),*]
            }

            /// Replaces each tensor by what `f` makes of it and its name.
            ///
            /// # Errors
            /// If `f` returns one.
            pub fn map(&self, mut f: impl FnMut(&'static str, &Tensor) -> Result<Tensor>) -> Result<Self> {
                Ok(Self { $($field: f(stringify!($field), &self.$field)?),* })
            }
        }

        /// The offset of each tensor in a row of [`Parameters::packed`], and the row's length.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct ParameterPlaces {
            $(pub(crate) $field: usize,)*
            pub(crate) n: usize,
        }

        impl ParameterPlaces {
            pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
                let mut n = 0;
                $(
                    let $field = n;
                    n += parameters.$field.dim(1)?;
                )*
                Ok(Self { $($field,)* n })
            }
        }
    };
}

parameters! {
    /// Time step h (·, 1), s.
    h,
    /// Barrier parameter κ (·, 1), 1/J.
    kappa,
    /// Regularisation ε of inertia (·, 1).
    epsilon,
    /// Gravity in world axes (·, 3), m/s².
    gravity,
    /// Friction coefficient of each pair (·, n_pairs), in the order of [`PairTable::pairs`].
    mu,
    /// Torsional friction of each pair that has some (·, n), m, in the order of [`PairTable::torsional_pairs`].
    torsion,
    /// Stiffness of the commanded joints (·, nu), N·m/rad or N/m.
    stiffness,
    /// Stiffness of the joints' own springs (·, n), N·m/rad or N/m, in the order of [`Tree::sprung`].
    spring,
    /// q at which these springs are at rest (·, n), rad or m.
    spring_rest,
    /// Viscous damping of the joints that have some (·, n), N·m·s/rad or N·s/m, in the order of [`Tree::damped`]. In
    /// the quasi-dynamic step it acts where [`Tree::is_resisted`] says.
    damping,
    /// Armature of the joints that have some (·, n), kg·m² or kg, in the order of [`Tree::armoured`]; it acts where
    /// damping does.
    armature,
    /// Largest force of dry friction F of the joints that have some (·, n), N·m or N, in the order of [`Tree::dry`]. In
    /// the quasi-dynamic step it acts where [`Tree::dry_friction`] says.
    dry_friction,
    /// Friction coefficient of the tables (·, n), in the order of [`Tree::tables`].
    table_friction,
    /// Largest torque of a table's friction over its largest force, c (·, n), m.
    table_radius,
    /// Stiffness of the connections of links (·, n), N/m, in the order of [`Tree::connections`].
    connection,
    /// Mass of each inertial body (·, n_inertial), kg; see [`crate::model::Compiled::inertial`].
    mass,
    /// Inertia of each inertial body about its centre of mass, along its own axes (·, 6 n_inertial):
    /// xx, yy, zz, xy, xz, yz; kg·m².
    inertia,
    /// Sizes of the shapes (·, 4 n_shapes) in the order of [`Shape::sizes`], m.
    sizes,
    /// Positions (·, 3 (n_bodies + n_shapes + 2 n_connections + n_inertial)), m: of each body's joint in its parent's
    /// frame, of each shape in its body's frame, of each connection's two points in their bodies' frames, of each
    /// inertial body's centre of mass in its frame.
    offsets,
    /// External generalised force besides gravity (·, nv), N or N·m.
    tau,
}

impl Parameters {
    pub(crate) fn new(
        scene: &Scene,
        tree: &Tree,
        shapes: &[BodyShape],
        pairs: &PairTable,
        inertial: &[usize],
        offsets: &Tensor,
    ) -> Result<Self> {
        let row = |values: Vec<f64>| {
            let row = Tensor::from_slice(&values, (1, values.len()), &Device::Cpu)?.to_dtype(offsets.dtype())?;
            row.to_device(offsets.device())
        };
        let inertia = |body: &usize| tree.bodies[*body].inertia.as_ref();
        let stiffness = tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.stiffness);
        let six = |m: &nalgebra::Matrix3<f64>| [m.m11, m.m22, m.m33, m.m12, m.m13, m.m23];
        Ok(Self {
            h: row(vec![scene.params.h])?,
            kappa: row(vec![scene.params.kappa])?,
            epsilon: row(vec![scene.params.epsilon])?,
            gravity: row(scene.gravity.to_vec())?,
            mu: row(pairs.pairs.iter().map(|pair| pair.mu).collect())?,
            torsion: row(pairs.torsional_pairs().map(|pair| pairs.pairs[pair].torsion).collect())?,
            stiffness: row(stiffness.collect())?,
            spring: row(tree.sprung().map(|c| c.spring.stiffness).collect())?,
            spring_rest: row(tree.sprung().map(|c| c.spring.rest).collect())?,
            damping: row(tree.damped().map(|c| c.damping).collect())?,
            armature: row(tree.armoured().map(|c| c.armature).collect())?,
            dry_friction: row(tree.dry().map(|c| c.friction).collect())?,
            table_friction: row(tree.tables().map(|(_, (friction, _))| friction).collect())?,
            table_radius: row(tree.tables().map(|(_, (_, radius))| radius).collect())?,
            connection: row(tree.connections.iter().map(|connection| connection.stiffness).collect())?,
            mass: row(inertial.iter().filter_map(inertia).map(|i| i.mass).collect())?,
            inertia: row(inertial.iter().filter_map(inertia).flat_map(|i| six(&i.matrix)).collect())?,
            sizes: row(shapes.iter().flat_map(|shape: &BodyShape| Shape::sizes(&shape.shape)).collect())?,
            offsets: offsets.clone(),
            tau: row(vec![0.0; tree.nv])?,
        })
    }

    /// The tracked tensors with a row for each world, see [`guarded`].
    pub(crate) fn guarded(&self, worlds: usize) -> Result<Self> {
        self.map(|_, t| guarded(t, worlds))
    }

    /// All tensors side by side (1 or B, n), in the order of [`Parameters::NAMES`]; differentiable.
    pub(crate) fn packed(&self) -> Result<Tensor> {
        let tensors = self.tensors();
        let rows = tensors.iter().map(|t| t.dim(0)).collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(1);
        let wide = tensors.iter().map(|t| t.broadcast_as((rows, t.dim(1)?))).collect::<Result<Vec<_>>>()?;
        beside(&wide.iter().collect::<Vec<_>>(), 1)
    }

    /// Checks that each tensor is a matrix with the same width as in `expected`, and with one row or one row per world.
    ///
    /// # Errors
    /// If one is not; the message gives the parameter's name, the expected shape and the shape found.
    pub(crate) fn check(&self, expected: &Self, worlds: usize) -> Result<()> {
        for ((name, own), reference) in Self::NAMES.iter().zip(self.tensors()).zip(expected.tensors()) {
            let n = reference.dim(1)?;
            match own.dims() {
                [rows, width] if (*rows == 1 || *rows == worlds) && *width == n => {}
                other => bail!("parameter `{name}`: expected shape (1 or {worlds}, {n}), got {other:?}"),
            }
            if own.dtype() != reference.dtype() {
                bail!("parameter `{name}`: expected type {:?}, got {:?}", reference.dtype(), own.dtype());
            }
        }
        Ok(())
    }
}
