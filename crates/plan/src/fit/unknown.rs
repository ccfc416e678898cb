//! What a fit looks for: parameters by name, and what belongs to a log alone.

use std::ops::Range;

use candle_core::{DType, Result, Tensor};

use fingertip_scene::{Shape, unknown};
use fingertip_shapes::Error;
use fingertip_step::kinematics::{Coordinate, Tree};
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;

/// Factor by which a parameter may differ from its start if nothing else is said.
const FACTOR: f64 = 1e3;
/// The longest latency if nothing else is said, s.
const LATENCY: f64 = 0.5;

/// A number that a fit looks for.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// Its name, as `mass.ball`.
    pub name: String,
    /// Its unit; empty for a number without one, and for a common factor.
    pub unit: &'static str,
    /// Its value, where the search starts.
    pub value: f64,
    /// The least and the largest value.
    pub bounds: (f64, f64),
    /// What is known of it beforehand: the mean, and the standard deviation.
    pub prior: Option<(f64, f64)>,
    /// Is the number a common factor of several parameters that differ?
    pub is_factor: bool,
    pub(super) part: Part,
    pub(super) scale: Scale,
    /// The value with the parameters as they are.
    pub(super) first: f64,
}

/// What a number changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// Places in the row of all parameters side by side.
    Parameters(Vec<usize>),
    /// The time by which commands come late.
    Latency,
    /// What the sensor of a coordinate adds, a place in q.
    Sensor(usize),
    /// What is added to a command, a place in u.
    Command(usize),
}

impl Part {
    /// Is the other one all or some of this one?
    fn has(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Parameters(all), Self::Parameters(some)) => some.iter().all(|at| all.contains(at)),
            _ => self == other,
        }
    }
}

/// The coordinate in which the search moves a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scale {
    /// The logarithm, for what is positive.
    Logarithm,
    /// The number over what counts as much of it.
    Linear(f64),
}

impl Unknown {
    /// Bounds it, and brings its value within.
    pub fn bound(&mut self, lower: f64, upper: f64) {
        self.bounds = (lower, upper);
        self.value = self.value.max(lower).min(upper);
    }

    /// The search's coordinate of a value: 1 more is e times as much, or as much more as counts as much.
    pub(super) fn coordinate(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Logarithm => value.ln(),
            Scale::Linear(much) => value / much,
        }
    }

    /// The value of a coordinate.
    pub(super) fn value_at(&self, x: f64) -> f64 {
        match self.scale {
            Scale::Logarithm => x.exp(),
            Scale::Linear(much) => x * much,
        }
    }

    /// The derivative of the value by the coordinate where it is `value`.
    pub(super) fn rate(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Logarithm => value,
            Scale::Linear(much) => much,
        }
    }

    /// The mean and the standard deviation of what is known beforehand, as coordinates.
    pub(super) fn prior_coordinates(&self) -> Option<(f64, f64)> {
        self.prior.map(|(mean, deviation)| (self.coordinate(mean), deviation / self.rate(mean)))
    }

    /// Checks that value, bounds and prior are possible.
    pub(super) fn check(&self) -> fingertip_shapes::Result<()> {
        let Self { name, value, bounds: (lower, upper), .. } = self;
        let wrong = |what: &str, message: String| Err(Error::invalid(format!("{what} of \"{name}\""), message));
        let is_positive = matches!(self.scale, Scale::Logarithm);
        if !value.is_finite() || (is_positive && *value <= 0.0) {
            let expected = if is_positive { "a positive number" } else { "a finite number" };
            return wrong("start", format!("expected {expected}, got {value}"));
        }
        if lower.is_nan() || upper.is_nan() || lower >= upper || (is_positive && *lower <= 0.0) {
            let positive = if is_positive { " above 0" } else { "" };
            return wrong(
                "bounds",
                format!("expected a lower and a larger upper one{positive}, got {lower} and {upper}"),
            );
        }
        if value < lower || value > upper {
            return wrong("start", format!("expected a number within the bounds {lower} and {upper}, got {value}"));
        }
        match self.prior {
            Some((mean, deviation))
                if !mean.is_finite() || (is_positive && mean <= 0.0) || !deviation.is_finite() || deviation <= 0.0 =>
            {
                let positive = if is_positive { "positive " } else { "" };
                let expected = format!("expected a {positive}mean and a positive standard deviation");
                wrong("prior", format!("{expected}, got {mean} and {deviation}"))
            }
            _ => Ok(()),
        }
    }
}

/// All parameters side by side in one row.
pub(super) fn row(parameters: &Parameters) -> Result<Vec<f64>> {
    let numbers = |t: &Tensor| t.narrow(0, 0, 1)?.flatten_all()?.to_dtype(DType::F64)?.to_vec1::<f64>();
    Ok(parameters.tensors().into_iter().map(numbers).collect::<Result<Vec<_>>>()?.concat())
}

/// The places of each parameter in that row.
pub(super) fn places(parameters: &Parameters, name: &str) -> Result<Range<usize>> {
    let mut start = 0;
    for (own, tensor) in Parameters::NAMES.iter().zip(parameters.tensors()) {
        let width = tensor.dim(1)?;
        if *own == name {
            return Ok(start..start + width);
        }
        start += width;
    }
    Ok(start..start)
}

/// The parameters of such a row.
pub(super) fn parameters_of(row: &[f64], like: &Parameters) -> Result<Parameters> {
    let mut start = 0;
    like.map(|_, tensor| {
        let width = tensor.dim(1)?;
        start += width;
        Tensor::from_slice(&row[start - width..start], (1, width), tensor.device())
    })
}

/// A number that may be fitted: what it is called by, the best name first, its place among others of that name, and
/// what it changes.
struct Column {
    names: Vec<String>,
    index: Option<usize>,
    part: Part,
}

/// The numbers of a kind.
struct Field {
    key: &'static str,
    unit: &'static str,
    scale: Scale,
    columns: Vec<Column>,
}

/// The numbers with these names, each with its value among the parameters. `mu` is one number for all friction
/// coefficients, `mu.ball/hand` for those of a pair, `damping.*` one for each joint: see `docs/fit.md`.
///
/// # Errors
/// A name that is not known (the message gives the nearest known one) or that stands twice, or a parameter that is zero
/// and could only be multiplied.
pub fn unknowns(model: &Model, parameters: &Parameters, names: &[&str]) -> Result<Vec<Unknown>> {
    let (fields, row) = (fields(model, parameters)?, row(parameters)?);
    let mut all: Vec<Unknown> = Vec::new();
    for &name in names {
        for unknown in named(&fields, &row, name)? {
            if all.iter().any(|other| other.name == unknown.name) {
                return Err(Error::invalid(
                    name,
                    format!("expected each number once, but \"{}\" stands twice", unknown.name),
                )
                .into());
            }
            all.push(unknown);
        }
    }
    let taken = |unknown: &Unknown| match &unknown.part {
        Part::Parameters(places) => places.clone(),
        _ => Vec::new(),
    };
    for (k, one) in all.iter().enumerate() {
        let (own, is_own) = (taken(one), |other: &&Unknown| taken(other).iter().any(|at| taken(one).contains(at)));
        if let Some(other) = all[..k].iter().find(is_own).filter(|_| !own.is_empty()) {
            let message =
                format!("expected numbers apart from each other, but \"{}\" changes some of the same", other.name);
            return Err(Error::invalid(one.name.as_str(), message).into());
        }
    }
    Ok(all)
}

/// Those of some numbers that a name means, as for [`unknowns`].
///
/// # Errors
/// As [`unknowns`], or if there are none.
pub fn meant<'a>(
    all: &'a mut [Unknown],
    model: &Model,
    parameters: &Parameters,
    name: &str,
) -> Result<Vec<&'a mut Unknown>> {
    let meant = unknowns(model, parameters, &[name])?;
    let is_meant = |own: &Unknown| meant.iter().any(|one| one.part.has(&own.part));
    let own: Vec<&mut Unknown> = all.iter_mut().filter(|own| is_meant(own)).collect();
    if own.is_empty() {
        return Err(Error::invalid(name, "expected one of the numbers that are looked for").into());
    }
    Ok(own)
}

fn named(fields: &[Field], row: &[f64], name: &str) -> fingertip_shapes::Result<Vec<Unknown>> {
    let (key, of) = name.split_once('.').map_or((name, None), |(key, of)| (key, Some(of)));
    let (key, index, of) = match (of, split_index(key), of.map(split_index)) {
        (_, (key, Some(index)), None) => (key, Some(index), None),
        (Some(_), (key, None), Some((of, index))) => (key, index, Some(of)),
        _ => (key, None, of),
    };
    let Some(field) = fields.iter().find(|field| field.key == key) else {
        return Err(Error::invalid(name, unknown("parameter", key, fields.iter().map(|field| field.key))));
    };
    let is_wild = of.is_some_and(|of| of.contains('*'));
    let fits = |column: &&Column| {
        index.is_none_or(|index| column.index == Some(index))
            && match of {
                None => true,
                Some(of) if is_wild => matches(of, &column.names[0]),
                Some(of) => column.names.iter().any(|own| own == of),
            }
    };
    let found: Vec<&Column> = field.columns.iter().filter(fits).collect();
    if found.is_empty() {
        let known = field.columns.iter().flat_map(|column| &column.names).map(String::as_str);
        let message = match (of, index) {
            (Some(of), None) => unknown(key, of, known),
            (_, Some(index)) => format!("there is no number [{index}] of it"),
            (None, None) => format!("the scene has no {key}"),
        };
        return Err(Error::invalid(name, message));
    }
    // One number for all that a name means, or for each where it has a `*`, or where numbers add.
    let title = |column: &Column| match (column.names.first(), column.index) {
        (Some(own), Some(index)) if index_counts(field) => format!("{key}.{own}[{index}]"),
        (Some(own), _) => format!("{key}.{own}"),
        (None, Some(index)) => format!("{key}[{index}]"),
        (None, None) => key.to_owned(),
    };
    let is_apart = is_wild || matches!(field.scale, Scale::Linear(_));
    let mut groups: Vec<(String, Vec<&Column>)> = Vec::new();
    for column in found {
        let own = if is_apart { title(column) } else { name.to_owned() };
        match groups.iter_mut().find(|(name, _)| *name == own) {
            Some((_, columns)) => columns.push(column),
            None => groups.push((own, vec![column])),
        }
    }
    groups.into_iter().map(|(name, columns)| field.unknown(name, &columns, row)).collect()
}

/// Do a field's indices tell numbers apart that are fitted one by one?
fn index_counts(field: &Field) -> bool {
    matches!(field.scale, Scale::Linear(_))
}

/// `"tip[0]"` as `"tip"` and 0.
fn split_index(name: &str) -> (&str, Option<usize>) {
    let found = name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
    found.and_then(|(own, index)| Some((own, Some(index.parse().ok()?)))).unwrap_or((name, None))
}

/// Does a name match a pattern in which `*` stands for anything?
fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    (0..=rest.len()).filter(|&at| rest.is_char_boundary(at)).any(|at| matches(after, &rest[at..]))
}

impl Field {
    fn unknown(&self, name: String, columns: &[&Column], row: &[f64]) -> fingertip_shapes::Result<Unknown> {
        let places = columns.iter().flat_map(|column| match &column.part {
            Part::Parameters(places) => places.clone(),
            _ => Vec::new(),
        });
        let places: Vec<usize> =
            places.filter(|&at| row[at] != 0.0 || matches!(self.scale, Scale::Linear(_))).collect();
        let (part, value, is_factor) = match &columns[0].part {
            Part::Parameters(_) => {
                let Some(&first) = places.first() else {
                    let message = "expected a number above 0 in the scene to start from, got 0";
                    return Err(Error::invalid(name, message));
                };
                // What belongs to the number alone: a mass has its inertia besides.
                let own = columns.iter().filter_map(|column| match &column.part {
                    Part::Parameters(own) => own.first().filter(|&&at| row[at] != 0.0),
                    _ => None,
                });
                let is_factor = matches!(self.scale, Scale::Logarithm) && own.clone().any(|&at| row[at] != row[first]);
                (Part::Parameters(places), if is_factor { 1.0 } else { row[first] }, is_factor)
            }
            part => (part.clone(), 0.0, false),
        };
        let bounds = match (self.scale, &part) {
            (Scale::Logarithm, _) => (value / FACTOR, value * FACTOR),
            (Scale::Linear(_), Part::Latency) => (0.0, LATENCY),
            (Scale::Linear(much), _) => (value - FACTOR * much, value + FACTOR * much),
        };
        let unit = if is_factor { "" } else { self.unit };
        Ok(Unknown { name, unit, value, bounds, prior: None, is_factor, part, scale: self.scale, first: value })
    }
}

/// The names of a thing: its own, its owner's, and the last part of its own if no other has it.
fn names_of<'a>(own: &str, all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names = vec![own.to_owned()];
    if let Some((owner, last)) = own.split_once('/') {
        let ends = all.filter(|other| other.split_once('/').is_some_and(|(_, end)| end == last)).count();
        names.push(owner.to_owned());
        names.extend((ends == 1).then(|| last.to_owned()));
    }
    names
}

fn fields(model: &Model, parameters: &Parameters) -> Result<Vec<Field>> {
    const MUCH: f64 = 0.1;
    let tree = &model.tree;
    let at = |name: &str| places(parameters, name);
    let alone = |name: &str| -> Result<Vec<Column>> {
        Ok(vec![Column { names: Vec::new(), index: None, part: Part::Parameters(vec![at(name)?.start]) }])
    };
    let each = |names: &[&str], first: usize| -> Vec<Column> {
        let column = |(k, name): (usize, &&str)| Column {
            names: names_of(name, names.iter().copied()),
            index: None,
            part: Part::Parameters(vec![first + k]),
        };
        names.iter().enumerate().map(column).collect()
    };
    let joints = |name: &str, of: &mut dyn Iterator<Item = &Coordinate>| -> Result<Vec<Column>> {
        let names: Vec<&str> = of.map(|c| c.name.as_str()).collect();
        Ok(each(&names, at(name)?.start))
    };
    let body = |body: usize| tree.bodies[body].name.as_str();
    let bodies: Vec<&str> = tree.bodies.iter().map(|body| body.name.as_str()).collect();
    let vectors = |of: &mut dyn Iterator<Item = usize>, first: usize| -> Vec<Column> {
        let one = |(n, b): (usize, usize)| {
            let names = names_of(body(b), bodies.iter().copied());
            (0..3).map(move |k| Column {
                names: names.clone(),
                index: Some(k),
                part: Part::Parameters(vec![first + 3 * n + k]),
            })
        };
        of.enumerate().flat_map(one).collect()
    };
    let pairs = |name: &str, of: &mut dyn Iterator<Item = usize>| -> Result<Vec<Column>> {
        let first = at(name)?.start;
        let one = |(k, pair): (usize, usize)| {
            let [a, b] = [model.pairs.pairs[pair].a, model.pairs.pairs[pair].b].map(|shape| model.shapes[shape].body);
            Column { names: pair_names(tree, a, b), index: None, part: Part::Parameters(vec![first + k]) }
        };
        Ok(of.enumerate().map(one).collect())
    };
    let (mass, inertia, sizes, offsets) =
        (at("mass")?.start, at("inertia")?.start, at("sizes")?.start, at("offsets")?.start);
    let of_inertial = |part: &dyn Fn(usize) -> Part| -> Vec<Column> {
        let names: Vec<&str> = model.inertial.iter().map(|&b| body(b)).collect();
        let column = |(k, name): (usize, &&str)| Column {
            names: names_of(name, names.iter().copied()),
            index: None,
            part: part(k),
        };
        names.iter().enumerate().map(column).collect()
    };
    let six = |k: usize| inertia + 6 * k..inertia + 6 * (k + 1);
    let size = |(shape, own): (usize, &fingertip_step::contact::BodyShape)| {
        let names = names_of(body(own.body), bodies.iter().copied());
        let filled: Vec<usize> = (0..Shape::SIZES).filter(|&k| own.shape.sizes()[k] != 0.0).collect();
        filled.into_iter().map(move |k| Column {
            names: names.clone(),
            index: Some(k),
            part: Part::Parameters(vec![sizes + Shape::SIZES * shape + k]),
        })
    };
    let gravity = at("gravity")?.start;
    let freedoms = model.v_names();
    let freedoms: Vec<&str> = freedoms.iter().map(String::as_str).collect();
    let of_scalars = |part: fn(usize) -> Part, of: &mut dyn Iterator<Item = (usize, &str)>| -> Vec<Column> {
        let all: Vec<(usize, &str)> = of.collect();
        let names = || all.iter().map(|&(_, name)| name);
        all.iter().map(|&(k, name)| Column { names: names_of(name, names()), index: None, part: part(k) }).collect()
    };
    let plain = tree.coordinates.iter().filter(|c| c.kind.nq() == 1).map(|c| (c.q, c.name.as_str()));
    let commanded = || tree.coordinates.iter().filter_map(|c| Some((c.u?, c.name.as_str())));
    let (positive, linear) = (Scale::Logarithm, Scale::Linear);
    let field = |key, unit, scale, columns| Field { key, unit, scale, columns };
    let torsional: Vec<usize> = model.pairs.torsional_pairs().collect();
    Ok(vec![
        field("mu", "", positive, pairs("mu", &mut (0..model.pairs.pairs.len()))?),
        field("torsion", "m", positive, pairs("torsion", &mut torsional.into_iter())?),
        field(
            "stiffness",
            "N·m/rad or N/m",
            positive,
            joints("stiffness", &mut tree.coordinates.iter().filter(|c| c.u.is_some()))?,
        ),
        field("damping", "N·m·s/rad or N·s/m", positive, joints("damping", &mut tree.damped())?),
        field("armature", "kg·m² or kg", positive, joints("armature", &mut tree.armoured())?),
        field("dry_friction", "N·m or N", positive, joints("dry_friction", &mut tree.dry())?),
        field("table_friction", "", positive, joints("table_friction", &mut tree.tables().map(|(c, _)| c))?),
        field("table_radius", "m", positive, joints("table_radius", &mut tree.tables().map(|(c, _)| c))?),
        field("spring", "N·m/rad or N/m", positive, joints("spring", &mut tree.sprung())?),
        field("spring_rest", "rad or m", linear(MUCH), joints("spring_rest", &mut tree.sprung())?),
        field(
            "mass",
            "kg",
            positive,
            of_inertial(&|k| Part::Parameters(std::iter::once(mass + k).chain(six(k)).collect())),
        ),
        field("inertia", "kg·m²", positive, of_inertial(&|k| Part::Parameters(six(k).collect()))),
        field(
            "com",
            "m",
            linear(MUCH * MUCH),
            vectors(&mut model.inertial.iter().copied(), at("offsets")?.end - 3 * model.inertial.len()),
        ),
        field("size", "m", positive, model.shapes.iter().enumerate().flat_map(size).collect()),
        field("offset", "m", linear(MUCH * MUCH), vectors(&mut (0..bodies.len()), offsets)),
        field("tau", "N·m or N", linear(MUCH), each(&freedoms, at("tau")?.start)),
        field(
            "gravity",
            "m/s²",
            linear(1.0),
            (0..3)
                .map(|k| Column { names: Vec::new(), index: Some(k), part: Part::Parameters(vec![gravity + k]) })
                .collect(),
        ),
        field("kappa", "1/J", positive, alone("kappa")?),
        field("epsilon", "", positive, alone("epsilon")?),
        field(
            "latency",
            "s",
            linear(MUCH * MUCH),
            vec![Column { names: Vec::new(), index: None, part: Part::Latency }],
        ),
        field("sensor", "rad or m", linear(MUCH), of_scalars(Part::Sensor, &mut plain.into_iter())),
        field("command", "rad or m", linear(MUCH), of_scalars(Part::Command, &mut commanded())),
    ])
}

/// The names of a pair of bodies: both sides in either order, each as a body or as the thing that it belongs to.
fn pair_names(tree: &Tree, a: usize, b: usize) -> Vec<String> {
    let sides = [a, b].map(|body| {
        let own = tree.bodies[body].name.as_str();
        let owner = tree.bodies[body].owner.map(|owner| tree.owners[owner].name.as_str());
        std::iter::once(own).chain(owner.filter(|&owner| owner != own)).collect::<Vec<_>>()
    });
    let both = |x: &[&str], y: &[&str]| -> Vec<String> {
        x.iter().flat_map(|x| y.iter().map(move |y| format!("{x}/{y}"))).collect()
    };
    [both(&sides[0], &sides[1]), both(&sides[1], &sides[0])].concat()
}
