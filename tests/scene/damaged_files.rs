//! Files that are damaged, or written to do damage: a scene of any of them is read or refused, in bounded time, with
//! one line that names the file.

use std::fmt::Write;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Damaged files of each kind; the issue's own count is 3,000.
const FILES: u64 = 600;
/// What one of them may take. They are small: a thousandth of it is usual, on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder of its own, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("fingertip-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What stands in the place of a number or a word.
const TOKENS: [&str; 30] = [
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e400",
    "5e-324",
    "1e-200",
    "0",
    "-0.0",
    "-1",
    "4294967295",
    "18446744073709551616",
    "1e18",
    "0x10",
    "",
    "true",
    "null",
    "\"",
    "'",
    "<",
    ">",
    "&amp;",
    "]]>",
    "[[",
    "é\u{0}",
    "<robot>",
    "../../../../dev/zero",
    "%s%n",
];

/// One or two kinds of damage.
fn damaged(whole: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..rng.random_range(1..3) {
        let at = rng.random_range(0..bytes.len().max(1)).min(bytes.len());
        let end = rng.random_range(at..=bytes.len().min(at + 200));
        match rng.random_range(0..10) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            3 => (0..rng.random_range(1..20)).for_each(|_| {
                let at = rng.random_range(0..bytes.len().max(1));
                bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << rng.random_range(0..8));
            }),
            4 => drop(bytes.splice(at..end.min(at + 4), rng.random::<[u8; 4]>())),
            5 => {
                let nested = ["[", "{", "<a>", "<node>", "<link name=\"x\">", "\""][rng.random_range(0..6)];
                drop(bytes.splice(at..at, nested.repeat(rng.random_range(1..30_000)).into_bytes()));
            }
            // Another number, or another word.
            _ => {
                let kind = rng.random_range(0..3) > 0;
                let is = |byte: u8| {
                    if kind { byte.is_ascii_digit() || b".-+e".contains(&byte) } else { byte.is_ascii_alphabetic() }
                };
                let Some(begin) = (at..bytes.len()).find(|&i| is(bytes[i])) else { continue };
                let end = (begin..bytes.len()).find(|&i| !is(bytes[i])).unwrap_or(bytes.len());
                let token = TOKENS[rng.random_range(0..TOKENS.len())];
                drop(bytes.splice(begin..end, token.bytes()));
            }
        }
    }
    bytes
}

/// Reads a scene of which `file` is damaged. Was it refused?
fn read(scene: &Path, file: &str, what: &str) -> bool {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let scene = Scene::load(scene)?;
        // What is valid can be compiled, or an error says why not.
        let home = Model::new(&scene, DType::F64, &Device::Cpu)
            .and_then(|model| model.home(1)?.flatten_all()?.to_vec1::<f64>());
        fingertip::Result::Ok(home)
    }));
    assert!(start.elapsed() < PATIENCE, "{what} took {:?}", start.elapsed());
    match outcome {
        Err(_) => panic!("{what}: a panic"),
        Ok(Ok(home)) => {
            assert!(home.unwrap_or_default().iter().all(|x| x.is_finite()), "{what}");
            false
        }
        Ok(Err(error)) => {
            let text = error.to_string();
            assert!(text.contains(file) || text.contains("scene.toml"), "{what}: \"{text}\" does not name the file");
            assert!(text.len() < 4000, "{what}: a message of {} bytes", text.len());
            true
        }
    }
}

fn damage(name: &str, file: &str, whole: &[u8], scene: Option<&str>, least: u64) {
    let folder = Folder::new(name);
    if let Some(scene) = scene {
        folder.write("scene.toml", scene);
    }
    let path = folder.0.join("scene.toml");
    folder.write(file, whole);
    assert!(!read(&path, file, "the sound file"), "{name}: the sound file is read");
    let mut refused = 0;
    for seed in 0..FILES {
        let bytes = damaged(whole, &mut ChaCha8Rng::seed_from_u64(seed));
        let copy = folder.write(file, &bytes);
        let is_refused = read(&path, file, &format!("{name} {seed} ({})", copy.display()));
        refused += u64::from(is_refused);
    }
    println!("{name}: {refused} of {FILES} refused");
    assert!(refused > least, "{name}: {refused} of {FILES} refused");
}

const SCENE: &str = "[params]\nh = 0.01\nkappa = 1e4\n\n[[object]]\nname = \"ball\"\nsphere = 0.04\nmass = 0.52\n\
    freedom = \"free\"\nposition = [0.12, 0.03, 0.16]\nrpy = [0.1, 0.2, 0.3]\n\n[[object]]\nname = \"cup\"\n\
    hull = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [0.1, 0.1, 0.1]]\nmass = 1.0\nfreedom = \"planar\"\n\n\
    [[object]]\nname = \"table\"\nhalfspace = [0.0, 0.0, 1.0, -0.2]\nfreedom = \"fixed\"\n\n[[pair]]\na = \"ball\"\n\
    b = \"cup\"\nmu = 0.8\n\n[[object]]\nname = \"box\"\nbox = [0.1, 0.2, 0.3]\nrounding = 0.01\nmass = 1.0\n\
    inertia = [0.1, 0.1, 0.1]\nfreedom = \"translation\"\nquaternion = [1.0, 0.0, 0.0, 0.0]\n";

fn mesh_scene(file: &str) -> String {
    format!("[[object]]\nname = \"cup\"\nmesh = \"{file}\"\nscale = 0.1\nmass = 1.0\nfreedom = \"free\"\n")
}

/// Points of a ball and the triangles between them, a band of latitude at a time.
fn ball(n: usize) -> (Vec<[f64; 3]>, Vec<[usize; 3]>) {
    let at = |i: usize, j: usize| {
        let (u, v) = (std::f64::consts::PI * i as f64 / n as f64, std::f64::consts::TAU * j as f64 / n as f64);
        [u.sin() * v.cos(), u.sin() * v.sin(), u.cos()]
    };
    let points = (0..=n).flat_map(|i| (0..n).map(move |j| at(i, j))).collect();
    let triangles = (0..n).flat_map(|i| {
        (0..n).flat_map(move |j| {
            let k = (j + 1) % n;
            [[i * n + j, i * n + n + j, i * n + k], [i * n + k, i * n + n + j, i * n + n + k]]
        })
    });
    (points, triangles.collect())
}

fn binary_stl() -> Vec<u8> {
    let (points, triangles) = ball(8);
    let mut bytes = vec![0; 80];
    bytes.extend((triangles.len() as u32).to_le_bytes());
    for triangle in triangles {
        bytes.extend([0; 12]);
        bytes.extend(triangle.iter().flat_map(|&i| points[i]).flat_map(|x| (x as f32).to_le_bytes()));
        bytes.extend([0, 0]);
    }
    bytes
}

#[test]
fn scenes() {
    damage("scene", "scene.toml", SCENE.as_bytes(), None, FILES / 3);
}

#[test]
fn urdf() {
    let scene = "[[robot]]\nname = \"arm\"\nurdf = \"arm.urdf\"\nstiffness = 2.0\n";
    let whole = fs::read("assets/robots/two_fingers.urdf").unwrap();
    damage("urdf", "arm.urdf", &whole, Some(scene), FILES / 4);
}

#[test]
fn stl() {
    damage("stl", "ball.stl", &binary_stl(), Some(&mesh_scene("ball.stl")), FILES / 4);
    let (points, triangles) = ball(6);
    let mut text = "solid ball\n".to_owned();
    for triangle in triangles {
        text += "facet normal 0 0 1\n outer loop\n";
        triangle
            .iter()
            .map(|&i| points[i])
            .for_each(|[x, y, z]| writeln!(text, "  vertex {x:.5} {y:.5} {z:.5}").unwrap());
        text += " endloop\nendfacet\n";
    }
    text += "endsolid ball\n";
    damage("stl-text", "ball.stl", text.as_bytes(), Some(&mesh_scene("ball.stl")), FILES / 4);
}

#[test]
fn obj() {
    let (points, triangles) = ball(6);
    let mut text = "mtllib ../../../../../../dev/zero\no ball\n".to_owned();
    points.iter().for_each(|[x, y, z]| writeln!(text, "v {x:.5} {y:.5} {z:.5}").unwrap());
    triangles.iter().for_each(|[a, b, c]| writeln!(text, "f {} {} {}", a + 1, b + 1, c + 1).unwrap());
    damage("obj", "ball.obj", text.as_bytes(), Some(&mesh_scene("ball.obj")), FILES / 10);
}

/// A header, a chunk of JSON and one of numbers.
#[test]
fn glb() {
    let (points, triangles) = ball(6);
    let positions: Vec<u8> = points.iter().flatten().flat_map(|&x| (x as f32).to_le_bytes()).collect();
    let indices: Vec<u8> = triangles.iter().flatten().flat_map(|&i| (i as u16).to_le_bytes()).collect();
    let json = format!(
        "{{\"scenes\":[{{\"nodes\":[0]}}],\"nodes\":[{{\"children\":[1],\"scale\":[1,2,1]}},{{\"mesh\":0}}],\"buffers\":[{{}}],\
         \"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0}},\"indices\":1}}]}}],\"bufferViews\":[{{\"buffer\":0,\
         \"byteLength\":{0}}},{{\"buffer\":0,\"byteOffset\":{0},\"byteLength\":{1}}}],\"accessors\":[{{\"bufferView\":0,\"componentType\":\
         5126,\"count\":{2},\"type\":\"VEC3\"}},{{\"bufferView\":1,\"componentType\":5123,\"count\":{3},\"type\":\"SCALAR\"}}]}}",
        positions.len(),
        indices.len(),
        points.len(),
        3 * triangles.len()
    );
    let chunk = |kind: &[u8], content: &[u8]| [&(content.len() as u32).to_le_bytes(), kind, content].concat();
    let binary = [positions, indices].concat();
    let chunks = [chunk(b"JSON", json.as_bytes()), chunk(b"BIN\0", &binary)].concat();
    let file = [b"glTF", &2_u32.to_le_bytes()[..], &(12 + chunks.len() as u32).to_le_bytes(), &chunks].concat();
    damage("glb", "ball.glb", &file, Some(&mesh_scene("ball.glb")), FILES / 4);
}

#[test]
fn collada() {
    let (points, _) = ball(6);
    let numbers: String = points.iter().flatten().map(|x| format!("{x:.5} ")).collect();
    let text = format!(
        "<?xml version=\"1.0\"?><COLLADA><library_geometries><geometry id=\"ball\"><mesh><source id=\"p\">\
         <float_array id=\"a\" count=\"{0}\">{numbers}</float_array><technique_common><accessor source=\"#a\" count=\"{1}\" \
         stride=\"3\"/></technique_common></source><vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices>\
         </mesh></geometry></library_geometries><library_visual_scenes><visual_scene id=\"s\"><node id=\"n\">\
         <translate>1 2 3</translate><rotate>0 0 1 90</rotate><instance_geometry url=\"#ball\"/></node></visual_scene>\
         </library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>",
        3 * points.len(),
        points.len()
    );
    damage("collada", "ball.dae", text.as_bytes(), Some(&mesh_scene("ball.dae")), FILES / 4);
}

/// Sixty nodes, each of which shows the next one twice: 2⁶⁰ instances in a page of text.
#[test]
fn a_file_that_unfolds_without_end() {
    let folder = Folder::new("unfolding");
    let show = |k: usize| format!("<instance_node url=\"#n{k}\"/>").repeat(2);
    let nodes: String = (0..60).map(|k| format!("<node id=\"n{k}\">{}</node>", show(k + 1))).collect();
    let scene = format!("<visual_scene id=\"s\">{}</visual_scene>", show(0));
    folder.write("ball.dae", format!("<COLLADA><library_nodes>{nodes}</library_nodes>{scene}</COLLADA>"));
    let path = folder.write("scene.toml", mesh_scene("ball.dae"));
    let start = Instant::now();
    let error = Scene::load(path).unwrap_err().to_string();
    assert!(error.contains("expected at most 100000 nodes"), "{error}");
    assert!(start.elapsed() < PATIENCE);
}

/// What the issue found: a count of triangles that no file holds.
#[test]
fn an_stl_that_counts_four_billion_triangles() {
    let folder = Folder::new("count");
    let mut bytes = binary_stl();
    bytes[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    folder.write("ball.stl", bytes);
    let error = Scene::load(folder.write("scene.toml", mesh_scene("ball.stl"))).unwrap_err().to_string();
    assert!(error.contains("ball.stl: STL: expected 4294967295 triangles, as the header says, got 128"), "{error}");
}
