//! Default classes: a class has the attributes of those above it and its own.

use std::collections::HashMap;

use super::document::{Document, Element};
use super::node::Node;
use fingertip_shapes::{Result, unknown};

/// The class of elements that name none.
const MAIN: &str = "main";

/// The tags of actuators.
const ACTUATORS: [&str; 11] = [
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "plugin",
];

struct Class<'a> {
    above: Option<usize>,
    elements: Vec<&'a Element>,
}

/// All classes of a file's `default` elements.
pub(super) struct Defaults<'a> {
    classes: Vec<Class<'a>>,
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Defaults<'a> {
    pub(super) fn read(document: &'a Document) -> Result<Self> {
        let main = Class { above: None, elements: Vec::new() };
        let mut defaults = Self { classes: vec![main], by_name: HashMap::from([(MAIN, 0)]) };
        for section in document.sections("default") {
            match section.own("class") {
                Some(name) if name != MAIN => defaults.add(&section, 0)?,
                _ => defaults.fill(&section, 0)?,
            }
        }
        Ok(defaults)
    }

    /// A class below another; one that is there already is continued.
    fn add(&mut self, node: &Node<'a>, above: usize) -> Result<()> {
        let name = node.own("class").ok_or_else(|| node.invalid("class", "expected a name, got none"))?;
        let next = self.classes.len();
        let index = *self.by_name.entry(name).or_insert(next);
        if index == next {
            self.classes.push(Class { above: Some(above), elements: Vec::new() });
        }
        self.fill(node, index)
    }

    fn fill(&mut self, node: &Node<'a>, index: usize) -> Result<()> {
        for child in node.children() {
            if child.tag() == "default" {
                self.add(&child, index)?;
            } else {
                self.classes[index].elements.push(child.element());
            }
        }
        Ok(())
    }

    /// The defaults of an element's class, or else of the class that its surroundings have, the nearest first.
    fn of(&self, node: &Node<'a>, childclass: Option<&str>, is: impl Fn(&str) -> bool) -> Result<Vec<&'a Element>> {
        let name = node.own("class").or(childclass).unwrap_or(MAIN);
        let index = self.by_name.get(name).copied();
        let mut at =
            Some(index.ok_or_else(|| node.invalid("class", unknown("class", name, self.by_name.keys().copied())))?);
        let mut found = Vec::new();
        while let Some(index) = at {
            let class = &self.classes[index];
            found.extend(class.elements.iter().rev().filter(|element| is(&element.tag)));
            at = class.above;
        }
        Ok(found)
    }

    /// The element with the defaults of its class.
    pub(super) fn apply(&self, node: Node<'a>, childclass: Option<&str>) -> Result<Node<'a>> {
        let defaults = self.of(&node, childclass, |tag| tag == node.tag())?;
        Ok(node.with_defaults(defaults))
    }

    /// The defaults of an actuator, of whichever kind they are spelled, the farthest first.
    pub(super) fn of_actuator(&self, node: &Node<'a>) -> Result<Vec<&'a Element>> {
        let mut defaults = self.of(node, None, |tag| ACTUATORS.contains(&tag))?;
        defaults.reverse();
        Ok(defaults)
    }
}
