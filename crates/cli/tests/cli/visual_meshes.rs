//! Meshes that a URDF names to be looked at: they are in the recording as they are in their files, and no file is
//! missed without a word.

use std::path::{Path, PathBuf};
use std::process::Command;

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{Articulation, Robot, Scene};
use fingertip::show::{self, Recording, Source};
use fingertip::step::Quasidynamic;
use support::browser::Browser;

/// A pyramid over the unit square, which has a dent: its top is at the middle of the square, 1 high, and its foot is
/// open to a point 0.5 high. It is no hull. Volume: (1 − 0.5)/3.
const VERTICES: [[f64; 3]; 6] =
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 1.0], [0.5, 0.5, 0.5]];
const FACES: [[usize; 3]; 8] = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]];
const VOLUME: f64 = 0.5 / 3.0;

/// Each test's own: they run side by side.
fn folder() -> PathBuf {
    let thread = std::thread::current();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("visual_meshes").join(thread.name().unwrap_or("test"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn write(name: &str, text: &str) {
    std::fs::write(folder().join(name), text).unwrap();
}

/// The mesh in all formats.
fn write_all() {
    let words = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let facet = |face: &[usize; 3]| {
        let corners: String = face.iter().map(|&k| format!("vertex {}\n", words(&VERTICES[k]))).collect();
        format!("facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n")
    };
    write("roof.stl", &format!("solid roof\n{}endsolid roof\n", FACES.iter().map(facet).collect::<String>()));
    let vertices: String = VERTICES.iter().map(|v| format!("v {}\n", words(v))).collect();
    let faces: String = FACES.iter().map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1)).collect();
    write("roof.obj", &(vertices + &faces));
    // Two inputs for each corner, and two pairs of triangles as quadrangles' fans would not be flat: a polygon list of
    // three.
    let list: String = FACES.iter().flatten().map(|k| format!("{k} 0 ")).collect();
    write(
        "roof.dae",
        &format!(
            r##"<COLLADA><library_geometries><geometry id="g"><mesh><source id="p"><float_array>{}</float_array></source>
            <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
            <polylist count="8"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
            <vcount>3 3 3 3 3 3 3 3</vcount><p>{list}</p></polylist></mesh></geometry></library_geometries></COLLADA>"##,
            words(VERTICES.as_flattened())
        ),
    );
}

fn record(visuals: &[(&str, [f64; 3])]) -> (Recording, Vec<String>) {
    let visual = |(file, [x, y, z]): &(&str, [f64; 3])| {
        let mesh = format!("<mesh filename=\"{file}\" scale=\"{x} {y} {z}\"/>");
        format!("<visual><origin xyz=\"0 0 0.1\"/><geometry>{mesh}</geometry></visual>")
    };
    let visuals: String = visuals.iter().map(visual).collect();
    let ball = "<collision><geometry><sphere radius=\"0.05\"/></geometry></collision>";
    let inertia = "<mass value=\"1\"/><inertia ixx=\"1e-3\" iyy=\"1e-3\" izz=\"1e-3\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/>";
    let link = format!("<link name=\"arm\"><inertial>{inertia}</inertial>{visuals}{ball}</link>");
    let joint = "<joint name=\"turn\" type=\"continuous\"><parent link=\"base\"/><child link=\"arm\"/><axis xyz=\"0 0 1\"/></joint>";
    let name = format!("robot-{}.urdf", visuals.len());
    write(&name, &format!("<robot name=\"r\"><link name=\"base\"/>{link}{joint}</robot>"));
    let robot = Articulation::from_urdf(folder().join(name)).unwrap();
    let notes = robot.notes.clone();
    let scene = Scene::new().robot(Robot::new("r", robot));
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "roof".into(), text: String::new(), scene };
    (show::record(&source, &step, 2, |_, _| vec![0.0], |_| Ok(())).unwrap(), notes)
}

/// The volume within a closed mesh, m³; negative where it is inside out.
fn volume(vertices: &[[f64; 3]], faces: &[Vec<usize>]) -> f64 {
    let six = |face: &Vec<usize>| {
        let [a, b, c] = [0, 1, 2].map(|k| nalgebra::Vector3::from(vertices[face[k]]));
        a.dot(&b.cross(&c))
    };
    faces.iter().map(six).sum::<f64>() / 6.0
}

#[test]
fn meshes_are_seen_as_they_are() {
    write_all();
    let scales = [("roof.stl", [0.1; 3]), ("roof.obj", [0.1, -0.1, 0.2]), ("roof.dae", [0.1; 3])];
    let (recording, notes) = record(&scales);
    assert_eq!(notes, Vec::<String>::new());
    let path = folder().join("run.mcap");
    recording.write(&path).unwrap();
    let back = Recording::read(&path).unwrap();
    assert_eq!(back.shapes, recording.shapes);
    let meshes: Vec<_> = back.shapes.iter().filter(|shape| shape.kind == "mesh").collect();
    assert_eq!(meshes.len(), 3);
    for (shape, (file, scale)) in meshes.into_iter().zip(scales) {
        assert!(!shape.collides && shape.position == [0.0, 0.0, 0.1], "{file}");
        assert_eq!((shape.vertices.len(), shape.faces.len()), (6, 8), "{file}");
        let expected = VOLUME * scale.iter().product::<f64>().abs();
        // Corners are kept to 1e-7 m of 0.1 m.
        let found = volume(&shape.vertices, &shape.faces);
        assert!((found - expected).abs() < 1e-5 * expected, "{file}: {found}, not {expected}");
    }
}

#[test]
fn meshes_that_are_not_seen_are_named() {
    write_all();
    let (recording, notes) = record(&[("nowhere.stl", [1.0; 3]), ("roof.stl", [1.0; 3])]);
    assert_eq!(recording.shapes.iter().filter(|shape| shape.kind == "mesh").count(), 1);
    assert!(
        notes.concat().contains("visual meshes: 1 left out: there is no file")
            && notes.concat().contains("nowhere.stl")
    );
    // A damaged file does no harm, and is named once, however many links show it.
    let text = std::fs::read_to_string(folder().join("roof.stl")).unwrap();
    write("half.stl", &text[..200]);
    let (recording, notes) = record(&[("half.stl", [1.0, 1.0, 1.5]), ("half.stl", [1.0; 3])]);
    assert!(recording.shapes.iter().all(|shape| shape.kind != "mesh") && notes.is_empty());
    let urdf = std::fs::read_dir(folder()).unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let damaged =
        |name: &String| std::fs::read_to_string(folder().join(name)).is_ok_and(|text| text.contains("half.stl"));
    let urdf = urdf.filter(|name| name.starts_with("robot")).find(damaged).unwrap();
    write("half.toml", &format!("[[robot]]\nname = \"r\"\nurdf = \"{urdf}\""));
    let line = format!("r/arm: visual mesh left out: {}: STL: expected", folder().join("half.stl").display());
    assert!(recording.left_out.len() == 1 && recording.left_out[0].starts_with(&line), "{:?}", recording.left_out);
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_fingertip")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap())
    };
    let [toml, mcap] = ["half.toml", "half.mcap"].map(|name| folder().join(name).to_str().unwrap().to_owned());
    let [said, _] = run(&["inspect", &toml]);
    assert!(said.contains(&line), "{said}");
    let [_, said] = run(&["rollout", &toml, "--steps", "2", "--record", &mcap]);
    assert!(said.starts_with(&format!("warning: {line}")) && said.lines().count() == 1, "{said}");
    let back = Recording::read(mcap).unwrap();
    assert_eq!((&back.left_out, &back.shapes), (&recording.left_out, &recording.shapes));
}

/// The dent is seen from below: a hull's foot would be flat.
#[test]
fn the_page_draws_meshes() {
    let Some(browser) = Browser::start(600, 500) else { return };
    write_all();
    let (recording, _) = record(&[("roof.obj", [0.2; 3])]);
    let page = folder().join("roof.html");
    std::fs::write(&page, recording.html()).unwrap();
    browser.open(&format!("file://{}", page.display()));
    let part = "fingertip.stage.parts.find((part) => part.shape.kind === 'mesh').mesh";
    assert_eq!(browser.run(&format!("return {part}.indices.length")), 24);
    // No two of the faces make a smooth surface, so that all normals are those of faces.
    let upright = browser.run(&format!(
        "const m = {part}; return m.normals.filter((_, i) => i % 3 === 2 && Math.abs(m.normals[i]) > 0.999).length"
    ));
    assert_eq!(upright, 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
