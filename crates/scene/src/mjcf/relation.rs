//! What a file says of pairs: joints that follow others, geoms that touch or do not; and its keyframes.

use super::defaults::Defaults;
use super::document::Document;
use super::node::Node;
use fingertip_shapes::Result;

/// q of one joint is multiplier · q of another + offset, with the joints' references counted in later.
pub(super) struct Coupling {
    pub(super) follower: String,
    pub(super) leader: String,
    /// Constant and slope.
    pub(super) line: [f64; 2],
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

/// The couplings of joints, with notes on what they lack, and on other equalities.
pub(super) fn couplings(document: &Document) -> Result<(Vec<Coupling>, Vec<String>)> {
    let (mut couplings, mut notes) = (Vec::new(), Vec::new());
    for node in children(document, "equality") {
        let named = |node: &Node| node.named("name").map_or_else(String::new, |name| format!(" \"{name}\""));
        if node.tag() != "joint" {
            let ends: Vec<&str> = ["body1", "body2", "site1", "site2", "tendon1", "tendon2"]
                .iter()
                .filter_map(|&end| node.named(end))
                .collect();
            let (tag, name) = (node.tag(), named(&node));
            notes.push(format!(
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
            None => notes.push(format!("equality that holds joint \"{follower}\" left out")),
            Some(leader) => {
                if polynomial[2..].iter().any(|&coefficient| coefficient != 0.0) {
                    notes
                        .push(format!("equality of joint \"{follower}\": its polynomial's linear part is taken alone"));
                }
                let (leader, line) = (leader.to_owned(), [polynomial[0], polynomial[1]]);
                couplings.push(Coupling { follower, leader, line });
            }
        }
    }
    Ok((couplings, notes))
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
