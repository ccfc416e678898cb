//! The forest as the dynamics see it: one link per screw, with the inertia of everything that is fixed to it.
//!
//! A joint with several degrees of freedom is a chain of links, all but the last without mass; so each algorithm
//! handles one screw at a time, whatever the joint. Link 0 is the world, link s + 1 is moved by screw s:
//!
//! ```text
//! V_i = V_above + S_i v_i                       velocity
//! A_i = A_above + S_i a_i + V_base × S_i v_i    acceleration, A_0 = (0; −g)
//! ```
//!
//! `base` is the link that carries the axis. It is the link above, except that the three axes of a floating
//! joint's rotation are all carried by the link above the first of them (its rates are along the axes of the joint's
//! frame, not of the body).
//!
//! The inertia of a body in its own frame is ten numbers (M, M c, J), J about the origin of the frame. In the world,
//! with axes R and position p, k = R M c + ½ M p:
//!
//! ```text
//! first = R M c + M p        Ī = R J Rᵀ + 2 (p·k) 1 − p kᵀ − k pᵀ
//! ```

use crate::kinematics::spatial::SpatialInertia;
use crate::kinematics::{FrameSpec, FrameTables, POSE, Pose, Tree};
use fingertip_lanes::factor::Pattern;
use fingertip_lanes::lane::{Real, clear};
use fingertip_lanes::vector::{Mat3, Vec3, add, axpy, dot, rotate, rotate_back, scale, sub, zero};

/// Numbers of a spatial inertia: mass, first moment (3), inertia tensor (6).
pub const INERTIA: usize = 10;

/// A link: one screw, and the mass that it moves if it is the last screw of its joint.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The link that this one hangs from; its index is smaller.
    pub above: usize,
    /// The link that carries this link's axis.
    pub base: usize,
    /// The last of the links that turn together: its own index except for the rotation of a floating joint.
    pub end: usize,
    /// The degree of freedom of the link's screw.
    pub dof: usize,
    /// The link's row in the joint-space inertia matrix's [`Pattern`].
    pub slot: usize,
    /// Has the link any inertia of its own?
    pub massive: bool,
}

/// The forest of links as plain tables, over which all dynamics algorithms walk.
#[derive(Debug)]
pub struct Links {
    /// The kinematics, with a frame on each body that has mass and can move.
    pub frames: FrameTables,
    /// The links; the first is the world.
    pub links: Vec<Link>,
    /// The link of each body that has mass and can move.
    pub bodies: Vec<usize>,
    /// Sparsity pattern of the joint-space inertia matrix M.
    pub pattern: Pattern,
    /// The number of coordinates, the length of q.
    pub nq: usize,
    /// The number of degrees of freedom, the length of v.
    pub nv: usize,
    /// The length of the joint offsets: three numbers for each body of the tree.
    pub n_offsets: usize,
    /// Does every degree of freedom have a single screw, so that the links are a tree of degrees of freedom?
    pub open: bool,
}

/// The state of the forest that all algorithms start from.
pub struct Placed<'a, R> {
    /// Screws, six numbers each.
    pub screws: &'a [R],
    /// Inertias of the links about the world's origin, ten numbers each.
    pub inertias: &'a [R],
    /// Gravity, m/s².
    pub gravity: Vec3<R>,
}

/// Gradients by the fields of [`Placed`].
pub struct PlacedGradients<'a, R> {
    /// Gradient by the screws.
    pub screws: &'a mut [R],
    /// Gradient by the links' inertias.
    pub inertias: &'a mut [R],
    /// Gradient by gravity.
    pub gravity: Vec3<R>,
}

impl<'a, R: Real> PlacedGradients<'a, R> {
    /// In the places for gradients of what is placed and of the inertias; none yet by gravity.
    #[inline(always)]
    pub fn new(links: &Links, placed: &'a mut [R], inertias: &'a mut [R]) -> Self {
        Self { screws: &mut placed[links.screws_from()..], inertias, gravity: zero() }
    }
}

impl Links {
    /// The links of a forest and, for its bodies with mass that can move, their indices in the tree.
    pub fn new(tree: &Tree) -> (Self, Vec<usize>) {
        let world = Link { above: 0, base: 0, end: 0, dof: 0, slot: 0, massive: false };
        let mut links = vec![world; tree.ns + 1];
        let mut link_of_body = vec![0; tree.bodies.len()];
        let (mut bodies, mut massive) = (Vec::new(), Vec::new());
        let open = tree.ns == tree.nv;
        for (b, body) in tree.bodies.iter().enumerate().skip(1) {
            let mut above = link_of_body[body.parent];
            // Rotations about fixed axes: none carries another.
            let turning = body.kind.quaternion().unwrap_or(usize::MAX);
            let mut root = above;
            for k in 0..body.kind.nv() {
                let i = body.screw + k + 1;
                let together = k >= turning;
                if k <= turning {
                    root = above;
                }
                links[i] = Link {
                    above,
                    base: if together { root } else { above },
                    end: if together { body.screw + body.kind.nv() } else { i },
                    dof: tree.screw_dof[body.screw + k],
                    slot: if open { body.screw + k } else { tree.screw_dof[body.screw + k] },
                    massive: false,
                };
                above = i;
            }
            link_of_body[b] = above;
            if above != 0 && body.inertia.is_some() {
                links[above].massive = true;
                bodies.push(above);
                massive.push(b);
            }
        }
        let frame = |&body: &usize| FrameSpec {
            body,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            xyz: [0.0; 3],
        };
        let specs: Vec<FrameSpec> = massive.iter().map(frame).collect();
        let pattern = if open {
            Pattern::new(links[1..].iter().map(|link| (link.above.checked_sub(1), link.dof)))
        } else {
            // A degree of freedom with several screws joins branches: no entry is surely zero.
            Pattern::new((0..tree.nv).map(|i| (i.checked_sub(1), i)))
        };
        let frames = FrameTables::new(tree, &specs);
        let n_offsets = 3 * tree.bodies.len();
        (Self { frames, links, bodies, pattern, nq: tree.nq, nv: tree.nv, n_offsets, open }, massive)
    }

    /// The number of links, the world included.
    pub fn n(&self) -> usize {
        self.links.len()
    }

    /// The length of the parameters: gravity, then the inertias of the bodies.
    pub fn n_parameters(&self) -> usize {
        3 + INERTIA * self.bodies.len()
    }

    /// The length of the row that [`FrameTables::forward`] gives: poses of the bodies with mass, then screws.
    pub fn n_placed(&self) -> usize {
        self.frames.n_outputs()
    }

    /// The offset of the screws in the row of poses and screws.
    pub fn screws_from(&self) -> usize {
        POSE * self.bodies.len()
    }

    /// The length of all links' inertias.
    pub fn n_inertias(&self) -> usize {
        INERTIA * self.n()
    }

    /// Inertias of the links about the world's origin, from the bodies' poses and parameters.
    #[inline(always)]
    pub fn place_inertias<R: Real>(&self, placed: &[R], parameters: &[R], inertias: &mut [R]) {
        clear(inertias);
        for (b, &link) in R::parts(self.bodies.iter().enumerate()) {
            let pose = Pose::read(&placed[POSE * b..]);
            let own = SpatialInertia::read(&parameters[3..], b);
            own.moved(&pose).accumulate(inertias, link);
        }
    }

    /// Adds to the gradients of poses and parameters, given those of the links' inertias.
    #[inline(always)]
    pub fn vjp_inertias<R: Real>(
        &self,
        placed: &[R],
        parameters: &[R],
        inertias: &[R],
        grad_placed: &mut [R],
        grad_parameters: &mut [R],
    ) {
        for (b, &link) in R::parts(self.bodies.iter().enumerate()) {
            let pose = Pose::read(&placed[POSE * b..]);
            let own = SpatialInertia::read(&parameters[3..], b);
            let (pull, parameters) = own.vjp(&pose, SpatialInertia::read(inertias, link));
            pull.write(&mut grad_placed[POSE * b..]);
            parameters.accumulate(&mut grad_parameters[3..], b);
        }
    }
}

impl<R: Real> SpatialInertia<R> {
    /// The inertia about the world's origin of a body at `pose`, `self` being in the body's frame.
    #[inline(always)]
    fn moved(&self, pose: &Pose<R>) -> Self {
        let Pose { p, axes } = *pose;
        let r = rotate_back(&axes, self.first);
        let k = axpy(self.mass.scale(0.5), p, r);
        let turned = self.turned(&axes);
        let trace = dot(p, k).scale(2.0);
        let mut second = [R::zero(); 6];
        for (n, (i, j)) in PAIRS.into_iter().enumerate() {
            second[n] = dot(turned[i], [axes[0][j], axes[1][j], axes[2][j]]) - p[i].mul_add(k[j], k[i] * p[j]);
            if i == j {
                second[n] += trace;
            }
        }
        Self { mass: self.mass, first: axpy(self.mass, p, r), second }
    }

    /// R J, row by row.
    #[inline(always)]
    fn turned(&self, axes: &Mat3<R>) -> Mat3<R> {
        let [xx, xy, xz, yy, yz, zz] = self.second;
        let mut product = [[R::zero(); 3]; 3];
        for (i, row) in product.iter_mut().enumerate() {
            let of = [axes[0][i], axes[1][i], axes[2][i]];
            *row = [dot(of, [xx, xy, xz]), dot(of, [xy, yy, yz]), dot(of, [xz, yz, zz])];
        }
        product
    }

    /// The gradients by the pose and by `self`, given the gradient by [`SpatialInertia::moved`].
    #[inline(always)]
    fn vjp(&self, pose: &Pose<R>, grad: Self) -> (Pose<R>, Self) {
        let Pose { p, axes } = *pose;
        let half = R::splat(0.5);
        let [xx, xy, xz, yy, yz, zz] = grad.second;
        // G with ⟨G, dĪ⟩ = d(value): off the diagonal each number stands for two entries.
        let g = Self { second: [xx, xy * half, xz * half, yy, yz * half, zz], ..grad };
        let r = rotate_back(&axes, self.first);
        let k = axpy(self.mass * half, p, r);
        let trace = (xx + yy + zz).scale(2.0);
        let two = R::splat(2.0);
        let grad_k = sub(scale(trace, p), scale(two, g.tensor(p)));
        let grad_r = add(grad_k, grad.first);
        let carried = axpy(self.mass * half, grad_k, scale(self.mass, grad.first));
        let grad_p = add(sub(scale(trace, k), scale(two, g.tensor(k))), carried);
        // R̄ = 2 G R J + r̄ (M c)ᵀ, its columns being the gradients of the axes; J̄ = Rᵀ G R.
        let g_axes = [g.tensor(axes[0]), g.tensor(axes[1]), g.tensor(axes[2])];
        let [jxx, jxy, jxz, jyy, jyz, jzz] = self.second;
        let j = [[jxx, jxy, jxz], [jxy, jyy, jyz], [jxz, jyz, jzz]];
        let mut grad_axes = [[R::zero(); 3]; 3];
        for (c, column) in grad_axes.iter_mut().enumerate() {
            *column = axpy(self.first[c], grad_r, scale(two, rotate_back(&g_axes, j[c])));
        }
        let mut second = [R::zero(); 6];
        for (n, (a, b)) in PAIRS.into_iter().enumerate() {
            second[n] = dot(axes[a], g_axes[b]);
            if a != b {
                second[n] = second[n] * two;
            }
        }
        let mass = grad.mass + (dot(p, grad_k) * half + dot(p, grad.first));
        (Pose { p: grad_p, axes: grad_axes }, Self { mass, first: rotate(&axes, grad_r), second })
    }
}

/// Rows and columns of a symmetric matrix's numbers.
pub const PAIRS: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
