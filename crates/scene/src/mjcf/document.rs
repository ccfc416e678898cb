//! An MJCF and what it includes as one tree of elements, and which of its attributes are read.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::left_out::Said;
use fingertip_shapes::{Error, Result, file, xml};

/// Files that one may include.
const MOST_FILES: usize = 1000;
/// Elements within elements, those of included files counted.
const DEEPEST: usize = 200;

/// Elements and attributes that nothing has read: by tag, and by whether they matter, the number of elements and their
/// attributes.
type Unread<'a> = BTreeMap<(String, bool), (usize, BTreeSet<&'a str>)>;

/// Sections and elements that move nothing, or are said to be left out where something uses them.
const IDLE: [&str; 17] = [
    "visual",
    "statistic",
    "size",
    "custom",
    "sensor",
    "touch",
    "light",
    "camera",
    "material",
    "texture",
    "skin",
    "hfield",
    "site",
    "key",
    "lengthrange",
    "spatial",
    "tendon",
];

/// Attributes that move nothing: looks, sizes of memory, numerics; the softness of contacts and equalities, in whose
/// place this library's parameters are; and damping and delay of a command's own controller, which the step takes for
/// made up for.
const IDLE_ATTRIBUTES: [&str; 55] = [
    "name",
    "class",
    "user",
    "rgba",
    "material",
    "group",
    "texcoord",
    "normal",
    "texdir",
    "texturedir",
    "smoothnormal",
    "content_type",
    "octree_maxdepth",
    "needsdf",
    "hfield",
    "solref",
    "solimp",
    "solmix",
    "solreflimit",
    "solimplimit",
    "solreffriction",
    "solimpfriction",
    "margin",
    "gap",
    "torquescale",
    "fluidshape",
    "fluidcoef",
    "timestep",
    "integrator",
    "solver",
    "iterations",
    "ls_iterations",
    "tolerance",
    "ls_tolerance",
    "noslip_iterations",
    "noslip_tolerance",
    "ccd_iterations",
    "ccd_tolerance",
    "sdf_iterations",
    "sdf_initpoints",
    "jacobian",
    "apirate",
    "magnetic",
    "discardvisual",
    "fusestatic",
    "coordinate",
    "convexhull",
    "alignfree",
    "align",
    "saveinertial",
    "kv",
    "dampratio",
    "timeconst",
    "dyntype",
    "dynprm",
];

/// What `<flag>` disables that moves or touches something.
const FORCES: [&str; 12] = [
    "constraint",
    "equality",
    "frictionloss",
    "limit",
    "contact",
    "gravity",
    "passive",
    "spring",
    "damper",
    "clampctrl",
    "actuation",
    "filterparent",
];

/// Does an attribute that is not read move or touch something?
fn attribute_matters(tag: &str, name: &str, value: &str) -> bool {
    if tag == "flag" {
        return value.trim() == "disable" && FORCES.contains(&name);
    }
    let is_nothing = || value.split_ascii_whitespace().all(|word| word.parse() == Ok(0.0) || word == "false");
    !IDLE.contains(&tag) && !IDLE_ATTRIBUTES.contains(&name) && !is_nothing()
}

/// An element with those in it.
pub(super) struct Element {
    pub(super) tag: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
    /// The index of the element's file in [`Document::files`], and its line from 1.
    pub(super) file: usize,
    pub(super) line: usize,
}

/// A file with what it includes in the places of its `<include>`s.
pub(super) struct Document {
    pub(super) root: Element,
    pub(super) files: Vec<PathBuf>,
    /// Attributes that something has asked for, by their element's tag.
    read: RefCell<BTreeSet<(String, String)>>,
}

impl Document {
    /// Reads a file and what it includes.
    pub(super) fn load(path: &Path) -> Result<Self> {
        Self::of_text(&file::text(path)?, path)
    }

    /// Reads a text as that of a file with this path, and what it includes.
    pub(super) fn of_text(text: &str, path: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let root = parse(text, path.to_owned(), &mut files, 0)?;
        if root.tag != "mujoco" {
            return Err(Error::invalid(path.display().to_string(), format!("expected <mujoco>, got <{}>", root.tag)));
        }
        Ok(Self { root, files, read: RefCell::default() })
    }

    /// The main file's folder.
    pub(super) fn folder(&self) -> &Path {
        folder(&self.files[0])
    }

    pub(super) fn note_read(&self, tag: &str, attribute: &str) {
        let mut read = self.read.borrow_mut();
        let key = (tag.to_owned(), attribute.to_owned());
        if !read.contains(&key) {
            read.insert(key);
        }
    }

    /// What is said of elements and attributes that nothing has read: a line for each tag, with its attributes or, if
    /// none of them was asked for, the whole element. Warnings are of those that move or touch something in MuJoCo.
    pub(super) fn left_out(&self) -> Said {
        let read = self.read.borrow();
        let mut unread = Unread::new();
        self.collect(&self.root, &read, "", &mut unread);
        let mut said = Said::default();
        for ((name, matters), (n, attributes)) in unread {
            let attributes: Vec<&str> = attributes.into_iter().collect();
            let line = match &attributes[..] {
                [] => format!("<{name}>: {n} left out"),
                all => format!("<{name}>: {} left out", all.join(", ")),
            };
            if matters { &mut said.warnings } else { &mut said.notes }.push(line);
        }
        said
    }

    fn collect<'a>(
        &'a self,
        element: &'a Element,
        read: &BTreeSet<(String, String)>,
        within: &str,
        unread: &mut Unread<'a>,
    ) {
        for child in &element.children {
            let is_known = |name: &str| read.contains(&(child.tag.clone(), name.to_owned()));
            let is_read = |(tag, _): &&(String, String)| *tag == child.tag;
            // An element is known if some attribute of its tag is asked for, or it stands for itself.
            if child.tag != "flag" && !read.iter().any(|entry| is_read(&entry)) {
                let name = if within.is_empty() { child.tag.clone() } else { format!("{within}/{}", child.tag) };
                let matters = !name.split('/').any(|part| IDLE.contains(&part));
                unread.entry((name, matters)).or_default().0 += 1;
                continue;
            }
            for (name, value) in child.attributes.iter().filter(|(name, _)| !is_known(name)) {
                let key = (child.tag.clone(), attribute_matters(&child.tag, name, value));
                let entry = unread.entry(key).or_default();
                entry.0 += 1;
                entry.1.insert(name);
            }
            let within = if element.tag == self.root.tag { child.tag.as_str() } else { within };
            self.collect(child, read, within, unread);
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// The root element of a file's text.
fn parse(text: &str, path: PathBuf, files: &mut Vec<PathBuf>, depth: usize) -> Result<Element> {
    let place = |error: Error| error.within(path.display());
    xml::check_depth(text).map_err(place)?;
    let document = roxmltree::Document::parse(text).map_err(|error| place(Error::invalid("XML", error.to_string())))?;
    if files.len() == MOST_FILES {
        return Err(place(Error::invalid("include", format!("expected at most {MOST_FILES} files"))));
    }
    files.push(path.clone());
    let (index, root) = (files.len() - 1, document.root_element());
    let children = children(&document, root, index, files, depth)?;
    let tag = root.tag_name().name().to_owned();
    Ok(Element { tag, attributes: attributes(root), children, file: index, line: 1 })
}

fn attributes(node: roxmltree::Node) -> Vec<(String, String)> {
    node.attributes().map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned())).collect()
}

/// The elements below one, what they include in its place.
fn children(
    document: &roxmltree::Document,
    node: roxmltree::Node,
    file: usize,
    files: &mut Vec<PathBuf>,
    depth: usize,
) -> Result<Vec<Element>> {
    let mut elements = Vec::new();
    for child in node.children().filter(roxmltree::Node::is_element) {
        let line = document.text_pos_at(child.range().start).row as usize;
        let place = |message: String| {
            Error::invalid(format!("{}: line {line}: {}", files[file].display(), child.tag_name().name()), message)
        };
        if depth == DEEPEST {
            return Err(place(format!("expected elements at most {DEEPEST} deep")));
        }
        if !child.has_tag_name("include") {
            let tag = child.tag_name().name().to_owned();
            let children = children(document, child, file, files, depth + 1)?;
            elements.push(Element { tag, attributes: attributes(child), children, file, line });
            continue;
        }
        let name = child.attribute("file").ok_or_else(|| place("expected a file, got none".to_owned()))?;
        // Relative to the file that names it, as people write them, or to the main one, as MuJoCo says.
        let places = [folder(&files[file]).join(name), folder(&files[0]).join(name)];
        let found = places.iter().find(|path| path.is_file()).cloned();
        let path = found.ok_or_else(|| place(format!("there is no file {}", places[1].display())))?;
        if files.contains(&path) {
            return Err(place(format!("expected a file once, but \"{name}\" is included already")));
        }
        let included = parse(&file::text(&path)?, path, files, depth + 1)?;
        if included.tag != "mujoco" && included.tag != "mujocoinclude" {
            let (file, tag) = (files[included.file].display().to_string(), included.tag);
            return Err(Error::invalid(file, format!("expected <mujoco> or <mujocoinclude>, got <{tag}>")));
        }
        elements.extend(included.children);
    }
    Ok(elements)
}
