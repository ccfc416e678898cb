//! A recording's source: a scene with its name and the text of its file.

use fingertip_plan::mpc::Task;
use fingertip_scene::Scene;

/// A scene and where it comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the scene.
    pub name: String,
    /// The scene file's text; empty for a scene built in code.
    pub text: String,
    /// The scene, as it was read from the text.
    pub scene: Scene,
}

impl Source {
    /// The scene of a task.
    pub fn of_task(task: &Task) -> Self {
        let name = task.scene_path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self { name, text: task.scene_text.clone(), scene: task.scene.clone() }
    }
}
