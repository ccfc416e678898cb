//! The inputs of a step as one row of numbers: tangents of q, then u, then every parameter.

use std::ops::Range;

use candle_core::{Result, Tensor};
use fingertip::Parameters;
use fingertip::description::Shape;
use fingertip::kinematics::{Coordinate, Manifold};
use fingertip::step::{Quasidynamic, Step};

use super::states::State;

/// The change of a size or an offset that counts as 1, m.
pub const LENGTH: f64 = 0.1;
/// The change of torsional friction that counts as 1, m.
const TORSION: f64 = 0.01;
/// Numbers that have no meaning below 0, and nothing is asked of a step there.
const BOUNDED: [&str; 3] = ["mu", "torsion", "sizes"];
const AXES: [&str; 3] = ["x", "y", "z"];

/// Inputs that are alike: a range of columns and their name.
pub struct Group {
    pub name: &'static str,
    pub columns: Range<usize>,
}

/// The inputs of a step at a state. Each is a column of the Jacobians.
pub struct Inputs<'a> {
    step: &'a Quasidynamic,
    state: &'a State,
    manifold: Manifold,
    /// q, u and the parameters by their names.
    pub groups: Vec<Group>,
    values: Vec<f64>,
    units: Vec<f64>,
}

impl<'a> Inputs<'a> {
    /// The inputs of a step at a state of one world.
    pub fn new(step: &'a Quasidynamic, state: &'a State) -> Result<Self> {
        let model = step.model();
        let mut own = Self {
            step,
            state,
            manifold: Manifold::new(&model.tree, &model.device)?,
            groups: Vec::new(),
            values: Vec::new(),
            units: Vec::new(),
        };
        own.add("q", &vec![0.0; model.nv()]);
        own.add("u", &vec![0.0; model.nu()]);
        for (name, t) in Parameters::NAMES.iter().zip(step.parameters().tensors()) {
            own.add(name, &t.flatten_all()?.to_vec1()?);
        }
        Ok(own)
    }

    fn add(&mut self, name: &'static str, values: &[f64]) {
        let start = self.values.len();
        self.values.extend(values);
        self.units.extend(values.iter().enumerate().map(|(k, value)| match name {
            "q" | "u" | "mu" | "tau" | "spring_rest" => 1.0,
            "sizes" | "offsets" => LENGTH,
            "torsion" => TORSION,
            // Six of a body: the largest is on its diagonal.
            "inertia" => values[k / 6 * 6..][..6].iter().fold(0.0, |most: f64, x| most.max(x.abs())),
            _ if *value == 0.0 => 1.0,
            _ => value.abs(),
        }));
        self.groups.push(Group { name, columns: start..self.values.len() });
    }

    /// The change that counts as 1 in each column: 1 rad or m of q and u, a tenth of a metre of other lengths, the
    /// number itself where only its ratio matters.
    pub fn unit(&self, column: usize) -> f64 {
        self.units[column]
    }

    /// Is this number so near its lower bound that it can only rise by `change` units?
    pub fn is_at_bound(&self, column: usize, change: f64) -> bool {
        let group = self.groups.iter().find(|group| group.columns.contains(&column));
        group.is_some_and(|group| BOUNDED.contains(&group.name)) && self.values[column] < change * self.units[column]
    }

    /// Is there such a number? Shapes have room for more sizes than they have.
    pub fn is_there(&self, column: usize) -> bool {
        let sizes =
            self.groups.iter().find(|group| group.name == "sizes").filter(|group| group.columns.contains(&column));
        sizes.is_none_or(|sizes| self.size_name(column - sizes.columns.start).is_some())
    }

    fn size_name(&self, k: usize) -> Option<&'static str> {
        let names: &[&str] = match self.step.model().shapes[k / Shape::SIZES].shape {
            Shape::Sphere { .. } => &["radius"],
            Shape::Capsule { .. } | Shape::Cylinder { .. } => &["radius", "half length"],
            Shape::Box { .. } => &["half x", "half y", "half z", "rounding"],
            Shape::Ellipsoid { .. } => &["radius x", "radius y", "radius z"],
            _ => &[],
        };
        names.get(k % Shape::SIZES).copied()
    }

    /// A world for each row of changes, in units: q (B, nq), u (B, nu) and the parameters with B rows each.
    pub fn worlds(&self, changes: &[Vec<f64>]) -> Result<(Tensor, Tensor, Parameters)> {
        let rows = changes.len();
        let by = |columns: &Range<usize>| -> Result<Tensor> {
            let part = |row: &Vec<f64>| columns.clone().map(|k| row[k] * self.units[k]).collect::<Vec<_>>();
            let numbers: Vec<f64> = changes.iter().flat_map(part).collect();
            Tensor::from_vec(numbers, (rows, columns.len()), &self.step.model().device)
        };
        let mut groups = self.groups[2..].iter();
        let q = self.manifold.integrate(&self.state.q, &by(&self.groups[0].columns)?)?;
        let u = self.state.u.broadcast_add(&by(&self.groups[1].columns)?)?;
        let parameters = self.step.parameters().map(|_, t| match groups.next() {
            Some(group) => t.broadcast_add(&by(&group.columns)?),
            None => Ok(t.clone()),
        })?;
        Ok((q, u, parameters))
    }

    /// The steps of these worlds, solved from the forces `warm` (1, n).
    pub fn steps(&self, changes: &[Vec<f64>], warm: &Tensor) -> Result<Step> {
        let (q, u, parameters) = self.worlds(changes)?;
        let warm = warm.broadcast_as((changes.len(), warm.dim(1)?))?.contiguous()?;
        self.step.with_parameters(&parameters)?.step_from(&q, &u, Some(&warm))
    }

    /// The number of inputs.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The name of an input by its column, such as `mu of "hand/tip" and "ball"`.
    pub fn name(&self, column: usize) -> String {
        let Some(group) = self.groups.iter().find(|group| group.columns.contains(&column)) else {
            return String::new();
        };
        let (model, k) = (self.step.model(), column - group.columns.start);
        let (tree, name) = (&model.tree, group.name);
        let body = |body: usize| &tree.bodies[body].name;
        let shape =
            |shape: usize| format!("{} of \"{}\"", model.shapes[shape].shape.name(), body(model.shapes[shape].body));
        let pair = |pair: usize| {
            let pair = &model.pairs.pairs[pair];
            format!("{name} of \"{}\" and \"{}\"", body(model.shapes[pair.a].body), body(model.shapes[pair.b].body))
        };
        let command = |k: usize| tree.actuated.get(k).map_or_else(String::new, |&dof| velocity_name(self.step, dof));
        let joint = |what: &str, joint: Option<&Coordinate>| {
            joint.map_or_else(String::new, |joint| format!("{what} of \"{}\"", joint.name))
        };
        match name {
            "q" | "tau" => format!("{name} of {}", velocity_name(self.step, k)),
            "u" | "stiffness" => format!("{name} of {}", command(k)),
            "spring" => joint("spring", tree.sprung().nth(k)),
            "spring_rest" => joint("rest of the spring", tree.sprung().nth(k)),
            "damping" => joint(name, tree.damped().nth(k)),
            "armature" => joint(name, tree.armoured().nth(k)),
            "dry_friction" => joint("dry friction", tree.dry().nth(k)),
            "table_friction" => joint("friction of the table", tree.tables().nth(k).map(|(c, _)| c)),
            "table_radius" => joint("radius of the table", tree.tables().nth(k).map(|(c, _)| c)),
            "connection" => format!("stiffness of connection \"{}\"", tree.connections[k].name),
            "gravity" => format!("gravity's {}", AXES[k]),
            "mu" => pair(k),
            "torsion" => model.pairs.torsional_pairs().nth(k).map_or_else(String::new, pair),
            "mass" => format!("mass of \"{}\"", body(model.inertial[k])),
            "inertia" => {
                let entry = ["xx", "yy", "zz", "xy", "xz", "yz"][k % 6];
                format!("inertia {entry} of \"{}\"", body(model.inertial[k / 6]))
            }
            "sizes" => format!("{} of the {}", self.size_name(k).unwrap_or("nothing"), shape(k / Shape::SIZES)),
            "offsets" => {
                let (axis, at, bodies, shapes) = (AXES[k % 3], k / 3, tree.bodies.len(), model.shapes.len());
                if at < bodies {
                    format!("{axis} of the joint of \"{}\"", body(at))
                } else if at < bodies + shapes {
                    format!("{axis} of the {}", shape(at - bodies))
                } else if at < bodies + shapes + 2 * tree.connections.len() {
                    let point = at - bodies - shapes;
                    let connection = &tree.connections[point / 2];
                    format!("{axis} of the point on \"{}\" of a connection", body(connection.bodies[point % 2]))
                } else {
                    let n = at - bodies - shapes - 2 * tree.connections.len();
                    format!("{axis} of the centre of mass of \"{}\"", body(model.inertial[n]))
                }
            }
            _ => name.to_owned(),
        }
    }
}

/// The name of a degree of freedom: `"hand/thumb1"`, `"ball.ωx"`.
pub fn velocity_name(step: &Quasidynamic, dof: usize) -> String {
    let of = |coordinate: &Coordinate| coordinate.v_names().swap_remove(dof - coordinate.v);
    step.model().tree.coordinate_of(dof).map_or_else(String::new, |coordinate| format!("\"{}\"", of(coordinate)))
}
