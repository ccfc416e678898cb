//! Scenes, tasks and robots by name are those of the folder `assets`.

use std::fs;
use std::path::Path;

use fingertip::description::{Articulation, Scene};
use fingertip::mpc::Task;
use fingertip::shipped::{self, Kind};

#[test]
fn all_files_are_in_the_program() {
    let mut found = Vec::new();
    for folder in ["goals", "robots", "scenes", "tasks"] {
        for entry in fs::read_dir(Path::new("assets").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix("assets").unwrap();
            assert_eq!(shipped::text(name), Some(&*fs::read_to_string(&path).unwrap()), "{}", path.display());
            found.push(name.display().to_string());
        }
    }
    found.sort();
    assert_eq!(shipped::paths(), found);
}

#[test]
fn by_name_is_as_by_path() {
    for name in Kind::Scene.names() {
        assert_eq!(shipped::scene(name).unwrap(), Scene::load(format!("assets/scenes/{name}.toml")).unwrap(), "{name}");
    }
    for name in Kind::Robot.names() {
        let path = format!("assets/robots/{name}.urdf");
        assert_eq!(shipped::robot(name).unwrap(), Articulation::from_urdf(path).unwrap(), "{name}");
    }
    for name in Kind::Task.names() {
        let (own, other) = (shipped::task(name).unwrap(), Task::load(format!("assets/tasks/{name}.toml")).unwrap());
        assert_eq!(own.scene, other.scene, "{name}");
        assert_eq!(own.scene_text, other.scene_text, "{name}");
        assert_eq!(own.n_goals(), other.n_goals(), "{name}");
        assert_eq!(own.episode(3, 2).unwrap(), other.episode(3, 2).unwrap(), "{name}");
    }
}

#[test]
fn an_unknown_name_has_a_near_one() {
    let message = shipped::scene("hand_bal").unwrap_err().to_string();
    assert_eq!(message, "hand_bal: there is no scene \"hand_bal\"; did you mean \"hand_ball\"?");
    assert!(shipped::task("allegro_cub.toml").unwrap_err().to_string().contains("did you mean \"allegro_cube\"?"));
    assert!(shipped::text(Path::new("scenes/../tasks/pull.toml")).is_none());
}
