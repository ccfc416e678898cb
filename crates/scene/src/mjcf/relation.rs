//! Relations of pairs: joints that follow others, geoms that touch or do not; and its keyframes.

use super::body::WORLD;
use super::defaults::Defaults;
use super::document::Document;
use super::node::Node;
use crate::left_out::Said;
use fingertip_shapes::Result;

/// q of one joint is multiplier · q of another + offset, with the joints' references counted in later.
pub(super) struct Coupling {
    pub(super) follower: String,
    pub(super) leader: String,
    /// Constant and slope.
    pub(super) line: [f64; 2],
}

/// Two bodies that are held together: at one point, or altogether.
pub(super) struct Joining {
    pub(super) tag: String,
    /// Bodies or, by their names, sites. The second is the world's where none is given.
    pub(super) bodies: Option<[String; 2]>,
    pub(super) sites: Option<[String; 2]>,
    /// The point: of `connect` in the first body's frame, of `weld` in the second's.
    pub(super) anchor: [f64; 3],
    /// The second body's pose in the first's frame, position and quaternion; that of the file where the quaternion
    /// is 0.
    pub(super) relative: [f64; 7],
}

/// Two bodies that do not touch.
pub(super) type Exclusion = [String; 2];

/// Two geoms that may touch, and what is said of their friction.
pub(super) struct GeomPair {
    pub(super) geoms: [String; 2],
    pub(super) condim: Option<u32>,
    /// Slip, and turning about the normal.
    pub(super) friction: Option<[f64; 2]>,
}

pub(super) struct Key {
    pub(super) name: String,
    pub(super) qpos: Vec<f64>,
    pub(super) ctrl: Vec<f64>,
}

fn children<'a>(document: &'a Document, section: &'a str) -> impl Iterator<Item = Node<'a>> {
    document.sections(section).flat_map(|section| section.children().collect::<Vec<_>>())
}

/// Couplings by equalities.
#[derive(Default)]
pub(super) struct Equalities {
    pub(super) couplings: Vec<Coupling>,
    pub(super) joinings: Vec<Joining>,
    /// What is said of equalities that were left out.
    pub(super) said: Said,
}

/// The couplings of joints and the bodies that are held together, and what is left out of them.
pub(super) fn equalities(document: &Document) -> Result<Equalities> {
    let Equalities { mut couplings, mut joinings, said: Said { mut notes, mut warnings } } = Equalities::default();
    for node in children(document, "equality") {
        let named = |node: &Node| node.named("name").map_or_else(String::new, |name| format!(" \"{name}\""));
        if matches!(node.tag(), "connect" | "weld") {
            let joining = joining(&node)?;
            if node.flag("active")?.unwrap_or(true) {
                joinings.push(joining);
            } else {
                notes.push(format!("equality {}{} left out: it is not active", node.tag(), named(&node)));
            }
            continue;
        }
        if node.tag() != "joint" {
            let ends: Vec<&str> = ["body1", "body2", "site1", "site2", "tendon1", "tendon2"]
                .iter()
                .filter_map(|&end| node.named(end))
                .collect();
            let (tag, name) = (node.tag(), named(&node));
            warnings.push(format!(
                "equality {tag}{name} of {} left out: nothing holds them together here",
                ends.join(" and ")
            ));
            continue;
        }
        let active = node.flag("active")?.unwrap_or(true);
        let polynomial = node.filled("polycoef", [0.0, 1.0, 0.0, 0.0, 0.0])?;
        let follower = node.required("joint1")?.to_owned();
        match node.own("joint2") {
            _ if !active => notes.push(format!("equality of joint \"{follower}\" left out: it is not active")),
            None => warnings.push(format!("equality that holds joint \"{follower}\" left out")),
            Some(leader) => {
                if polynomial[2..].iter().any(|&coefficient| coefficient != 0.0) {
                    warnings
                        .push(format!("equality of joint \"{follower}\": its polynomial's linear part is taken alone"));
                }
                let (leader, line) = (leader.to_owned(), [polynomial[0], polynomial[1]]);
                couplings.push(Coupling { follower, leader, line });
            }
        }
    }
    Ok(Equalities { couplings, joinings, said: Said { notes, warnings } })
}

fn joining(node: &Node) -> Result<Joining> {
    let _ = node.own("name");
    let both = |first: &str, second: &str| -> Result<Option<[String; 2]>> {
        let Some(a) = node.own(first) else { return Ok(None) };
        let b = if first == "body1" { node.own(second).unwrap_or(WORLD) } else { node.required(second)? };
        Ok(Some([a.to_owned(), b.to_owned()]))
    };
    let (sites, bodies) = (both("site1", "site2")?, both("body1", "body2")?);
    if sites.is_none() && bodies.is_none() {
        return Err(node.invalid("body1", "expected body1 or site1 and site2, got none"));
    }
    Ok(Joining {
        tag: node.tag().to_owned(),
        bodies,
        sites,
        anchor: node.numbers("anchor")?.unwrap_or_default(),
        relative: node.numbers("relpose")?.unwrap_or_default(),
    })
}

pub(super) fn contacts(document: &Document, defaults: &Defaults) -> Result<(Vec<Exclusion>, Vec<GeomPair>)> {
    let (mut exclusions, mut pairs) = (Vec::new(), Vec::new());
    for section in document.sections("contact") {
        for node in section.children() {
            if node.tag() == "exclude" {
                let _ = node.own("name");
                exclusions.push([node.required("body1")?.to_owned(), node.required("body2")?.to_owned()]);
            } else if node.tag() == "pair" {
                let node = defaults.apply(node, None)?;
                let friction = node.text("friction").is_some();
                let [mu, _, torsion, _, _] = node.filled("friction", [1.0, 1.0, 0.005, 1e-4, 1e-4])?;
                let condim = node.word("condim", &["1", "3", "4", "6"])?;
                pairs.push(GeomPair {
                    geoms: [node.required("geom1")?.to_owned(), node.required("geom2")?.to_owned()],
                    condim: condim.and_then(|condim| condim.parse().ok()),
                    friction: friction.then_some([mu, torsion]),
                });
            }
        }
    }
    Ok((exclusions, pairs))
}

/// The keyframe named "home", or else the first one.
pub(super) fn key(document: &Document) -> Result<Option<Key>> {
    let mut keys = Vec::new();
    for (i, node) in children(document, "keyframe").enumerate() {
        let name = node.own("name").map_or_else(|| format!("{}", i + 1), str::to_owned);
        keys.push(Key {
            name,
            qpos: node.list("qpos")?.unwrap_or_default(),
            ctrl: node.list("ctrl")?.unwrap_or_default(),
        });
    }
    let home = keys.iter().position(|key| key.name == "home").unwrap_or(0);
    Ok(if keys.is_empty() { None } else { Some(keys.swap_remove(home)) })
}
