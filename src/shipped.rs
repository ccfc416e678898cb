//! The scenes, tasks and robots that come with the crate, by name.
//!
//! Their files are in the program, so they are found from any folder:
//!
//! ```
//! let scene = fingertip::shipped::scene("hand_ball")?;
//! assert_eq!(scene.objects[0].name, "ball");
//! # Ok::<(), fingertip::Error>(())
//! ```

use std::path::Path;

use fingertip_plan::mpc::Task;
use fingertip_scene::{Articulation, Folder, Scene, unknown};
use fingertip_shapes::{Error, Result};
use include_dir::{Dir, include_dir};

static SCENES: Dir = include_dir!("$CARGO_MANIFEST_DIR/assets/scenes");
static TASKS: Dir = include_dir!("$CARGO_MANIFEST_DIR/assets/tasks");
static ROBOTS: Dir = include_dir!("$CARGO_MANIFEST_DIR/assets/robots");
static GOALS: Dir = include_dir!("$CARGO_MANIFEST_DIR/assets/goals");

/// A kind of file that comes with the crate under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Scenes (TOML).
    Scene,
    /// Tasks (TOML).
    Task,
    /// Robots and articulated objects (URDF).
    Robot,
}

impl Kind {
    /// The kind as messages say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scene => "scene",
            Self::Task => "task",
            Self::Robot => "robot",
        }
    }

    fn files(self) -> &'static Dir<'static> {
        match self {
            Self::Scene => &SCENES,
            Self::Task => &TASKS,
            Self::Robot => &ROBOTS,
        }
    }

    /// All names, sorted.
    pub fn names(self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.files().files().filter_map(|file| file.path().file_stem()?.to_str()).collect();
        names.sort_unstable();
        names
    }

    /// The folder and the file of this name, with or without its ending.
    ///
    /// # Errors
    /// If there is none; the message names one that is similar.
    pub fn find(self, name: &str) -> Result<(Folder, &'static str)> {
        let is_this =
            |file: &&'static str| *file == name || Path::new(file).file_stem().is_some_and(|stem| stem == name);
        let mut files = self.files().files().filter_map(|file| file.path().to_str());
        let missing = || Error::invalid(name, unknown(self.name(), name, self.names().into_iter()));
        Ok((Folder::of_texts(format!("{}s", self.name()), text), files.find(is_this).ok_or_else(missing)?))
    }
}

/// The text of a file that comes with the crate, by its path in the folder `assets`: `scenes/hand_ball.toml`.
pub fn text(path: &Path) -> Option<&'static str> {
    let dir = match path.parent()?.to_str()? {
        "scenes" => &SCENES,
        "tasks" => &TASKS,
        "robots" => &ROBOTS,
        "goals" => &GOALS,
        _ => return None,
    };
    dir.get_file(path.file_name()?)?.contents_utf8()
}

/// The paths of all files that come with the crate, in the folder `assets`: `scenes/hand_ball.toml`.
pub fn paths() -> Vec<String> {
    let folders = [("scenes", &SCENES), ("tasks", &TASKS), ("robots", &ROBOTS), ("goals", &GOALS)];
    let of = |(folder, dir): (&str, &'static Dir)| {
        dir.files().map(|file| format!("{folder}/{}", file.path().display())).collect::<Vec<_>>()
    };
    let mut paths: Vec<String> = folders.into_iter().flat_map(of).collect();
    paths.sort_unstable();
    paths
}

/// The scene of this name.
///
/// # Errors
/// If there is none.
pub fn scene(name: &str) -> Result<Scene> {
    let (folder, file) = Kind::Scene.find(name)?;
    Scene::read(&folder, file)
}

/// The task of this name.
///
/// # Errors
/// If there is none.
pub fn task(name: &str) -> Result<Task> {
    let (folder, file) = Kind::Task.find(name)?;
    Task::read(&folder, file)
}

/// The robot, or articulated object, of this name.
///
/// # Errors
/// If there is none.
pub fn robot(name: &str) -> Result<Articulation> {
    let (folder, file) = Kind::Robot.find(name)?;
    Articulation::from_urdf_str(&folder.text(file)?, file)
}
