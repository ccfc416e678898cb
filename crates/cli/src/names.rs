//! Names in arguments: of a file, a scene or a task that comes with the program, or of a scene that is made on the
//! spot.

use std::fs;
use std::path::{Path, PathBuf};

use fingertip::description::{Folder, Scene, unknown};
use fingertip::mpc::Task;
use fingertip::mpc::task::SceneOf;
use fingertip::shipped::Kind;
use fingertip::show::Source;
use fingertip::{Error, Result};

use super::made::{is_made, made};
use super::message::warn;

/// The kinds of things that an argument can name.
pub enum Thing {
    Scene,
    Task,
    Recording,
}

/// The place of a scene or a task: a folder and a file in it.
struct Place {
    folder: Folder,
    file: PathBuf,
}

impl Place {
    fn path(&self) -> PathBuf {
        self.folder.join(&self.file)
    }

    /// The scene of the file if it is a task, in the file's folder.
    fn scene_of_task(&self) -> Result<Option<SceneOf>> {
        Ok(Task::scene_of(&self.folder.text(&self.file)?))
    }

    /// Is the file a scene, and no task?
    fn is_scene(&self) -> bool {
        matches!(self.scene_of_task(), Ok(None)) && Scene::read(&self.folder, &self.file).is_ok()
    }
}

/// A name rather than a path.
fn bare(what: &Path) -> Option<&str> {
    let name = what.to_str()?;
    let is_toml = what.extension().is_none_or(|ending| ending == "toml");
    (what.components().count() == 1 && is_toml).then_some(name)
}

/// Is there a file? A folder hides no name.
fn is_there(what: &Path) -> bool {
    what.exists() && !(what.is_dir() && bare(what).is_some())
}

/// The file, or what comes with the program under this name.
fn find(kind: Kind, what: &Path) -> Result<Place> {
    if is_there(what) {
        return Ok(Place { folder: Folder::from(""), file: what.to_owned() });
    }
    let Some(name) = bare(what) else {
        return Err(Error::file(what, fs::metadata(what).err().unwrap_or_else(missing)));
    };
    let (folder, file) = kind.find(name).map_err(|error| better(error, kind, name))?;
    Ok(Place { folder, file: file.into() })
}

/// The error of a name that does not come with the program, where it is a robot's or looks like a file's.
fn better(error: Error, kind: Kind, name: &str) -> Error {
    if Kind::Robot.find(name).is_ok() {
        let hint = format!("`fingertip scene new {name}` begins a scene with it");
        return Error::invalid(name, format!("expected a {}, but this is a robot; {hint}", kind.name()));
    }
    match name.strip_suffix(".toml") {
        Some(stem) => {
            let other = unknown(kind.name(), stem, kind.names().into_iter());
            Error::invalid(name, format!("there is no such file, and {other}"))
        }
        None => error,
    }
}

fn missing() -> std::io::Error {
    std::io::ErrorKind::NotFound.into()
}

/// Reads a scene: of a file, by its name, that of a task, or one that is made. What its model lacks is said on stderr.
pub fn scene(what: &Path) -> Result<Source> {
    if let Some(source) = made(what)? {
        return Ok(source);
    }
    let is_task = || bare(what).filter(|_| !is_there(what)).is_some_and(|name| Kind::Task.find(name).is_ok());
    let place = match find(Kind::Scene, what) {
        Err(_) if is_task() => find(Kind::Task, what)?,
        place => place?,
    };
    let mut name = place.path();
    let (text, scene) = match place.scene_of_task().ok().flatten() {
        Some(of_task) => {
            let (path, text, scene) = of_task.read(&place.folder.of(&place.file)).map_err(|error| match of_task {
                SceneOf::File(_) => error,
                _ => error.within(name.display()),
            })?;
            let file = matches!(of_task, SceneOf::File(_)).then(|| format!(", {}", path.display()));
            eprintln!("note: {} is a task; this is its scene{}", what.display(), file.as_deref().unwrap_or_default());
            if file.is_some() {
                name = path;
            }
            (text, scene)
        }
        None => (place.folder.text(&place.file)?, Scene::read(&place.folder, &place.file)?),
    };
    warn(&scene.all_warnings());
    let name = name.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(Source { name, text, scene })
}

/// Reads a task: of a file, or by its name. What the model of its scene lacks is said on stderr.
pub fn task(what: &Path) -> Result<Task> {
    let is_scene = || bare(what).filter(|_| !is_there(what)).is_some_and(|name| Kind::Scene.find(name).is_ok());
    let place = match find(Kind::Task, what) {
        Err(_) if is_scene() || made(what)?.is_some() => return Err(a_scene(what)),
        place => place?,
    };
    match Task::read(&place.folder, &place.file) {
        Err(_) if place.is_scene() => Err(a_scene(what)),
        task => task.inspect(|task| warn(&task.scene.all_warnings())),
    }
}

/// Is the file a scene, and no task?
pub fn is_scene(file: &Path) -> bool {
    Place { folder: Folder::from(""), file: file.to_owned() }.is_scene()
}

/// The error of a scene in a task's place.
fn a_scene(what: &Path) -> Error {
    let scene = what.display();
    Error::invalid(
        what.display().to_string(),
        format!(
            "expected a task, but this is a scene; `fingertip view {scene}` shows it, `fingertip tasks` lists tasks, and \
             crates/plan/docs/tasks.md says how to write one"
        ),
    )
}

/// The name of a recording.
///
/// # Errors
/// If it ends otherwise.
pub fn recording(name: &str) -> std::result::Result<PathBuf, String> {
    ends_in(name, &["mcap"])
}

/// The name of a figure.
///
/// # Errors
/// If it ends otherwise.
pub fn figure(name: &str) -> std::result::Result<PathBuf, String> {
    ends_in(name, &["svg", "png"])
}

fn ends_in(name: &str, endings: &[&str]) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(name);
    let is_one = path.extension().is_some_and(|own| endings.iter().any(|ending| own.eq_ignore_ascii_case(ending)));
    let expected = endings.iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(" or ");
    if is_one { Ok(path) } else { Err(format!("expected a name that ends in {expected}")) }
}

/// A thing that `view` can show.
pub fn thing(what: &Path) -> Result<Thing> {
    let has =
        |endings: &[&str]| what.extension().is_some_and(|own| endings.iter().any(|e| own.eq_ignore_ascii_case(e)));
    if is_there(what) {
        return Ok(match has(&["toml", "urdf", "xml", "mjcf"]) {
            true if Folder::from("").text(what).is_ok_and(|text| Task::scene_of(&text).is_some()) => Thing::Task,
            true => Thing::Scene,
            false => Thing::Recording,
        });
    }
    let Some(name) = bare(what) else { return Ok(if has(&["toml"]) { Thing::Scene } else { Thing::Recording }) };
    if is_made(what) || Kind::Scene.find(name).is_ok() {
        return Ok(Thing::Scene);
    }
    if Kind::Task.find(name).is_ok() {
        return Ok(Thing::Task);
    }
    let all = [Kind::Scene.names(), Kind::Task.names()].concat();
    Err(Error::invalid(name, unknown("file, scene or task", name, all.into_iter())))
}
