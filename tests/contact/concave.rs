//! Meshes as convex parts: how near they come, against closed forms, and what then happens in them and on them.

use std::sync::LazyLock;

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{
    Collision, Decompose, Freedom, Hull, MeshFile, Object, Params, Parts, Scene, Shape, Triangles,
};
use fingertip::step::Quasidynamic;

use support::meshes::{CUP, TORUS, cup, obj, revolved, torus, torus_height};
use support::states::Random;

/// How far a point is outside of the hull's farthest plane, negative inside, m.
fn outside(hull: &Hull, point: [f64; 3]) -> f64 {
    hull.faces().iter().map(|face| face.height(&point.into())).fold(f64::NEG_INFINITY, f64::max)
}

/// How far parts may be from their meshes, m.
const TOLERANCE: f64 = 2e-3;

static CUP_PARTS: LazyLock<Parts> = LazyLock::new(|| cup().decompose(&Decompose::within(TOLERANCE)).unwrap());
static TORUS_PARTS: LazyLock<Parts> = LazyLock::new(|| torus().decompose(&Decompose::within(TOLERANCE)).unwrap());

fn collisions(parts: &Parts) -> Vec<Collision> {
    parts.hulls.iter().map(|hull| Collision::centred(Shape::Hull(hull.clone().into()))).collect()
}

/// The configuration after so many steps without commands.
fn left_alone(scene: &Scene, steps: usize) -> Vec<f64> {
    let model = Model::new(scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let q = support::numbers(&model.home(1).unwrap());
    let rollout = step.rollout_numbers(&q, &vec![0.0; steps * model.nu()], steps).unwrap();
    rollout.q[rollout.q.len() - model.nq()..].to_vec()
}

#[test]
fn parts_of_a_torus_keep_to_the_tolerance_and_leave_its_hole_open() {
    let parts = &*TORUS_PARTS;
    assert!((6..=32).contains(&parts.hulls.len()), "{}", parts.hulls.len());
    assert!(parts.protrusion <= TOLERANCE && parts.uncovered <= TOLERANCE, "{parts:?}");
    let mut random = Random::new(1);
    let mut held = 0;
    for _ in 0..20_000 {
        let point = [0.055, 0.055, 0.013].map(|half| random.between(-half, half));
        let height = torus_height(point);
        let from_parts = parts.hulls.iter().map(|hull| outside(hull, point)).fold(f64::INFINITY, f64::min);
        let is_held = from_parts <= 0.0;
        held += usize::from(is_held);
        assert!(!is_held || height < TOLERANCE, "{point:?} is {height} outside and in a part");
        // Between two parts may be a slit.
        assert!(height > 0.0 || from_parts < TOLERANCE, "{point:?} is in the torus and {from_parts} from all parts");
    }
    assert!(held > 1000);
    assert!(parts.hulls.iter().all(|hull| hull.vertices().len() <= 64 && outside(hull, [0.0; 3]) > 0.0));
}

#[test]
fn a_cup_of_many_sides_is_few_parts_that_leave_it_open() {
    let (tolerance, [outer, inner, height, bottom]) = (1e-3, [0.04, 0.036, 0.09, 0.004]);
    let outline = [[1e-5, 0.0], [outer, 0.0], [outer, height], [inner, height], [inner, bottom], [1e-5, bottom]];
    let parts = revolved(&outline, 48).decompose(&Decompose::within(tolerance)).unwrap();
    assert!(parts.hulls.len() <= 32 && parts.protrusion <= tolerance && parts.uncovered <= tolerance, "{parts:?}");
    // The sides of a polygon of 48 corners are this much nearer than its corners.
    let flat = outer * (1.0 - (std::f64::consts::PI / 48.0).cos());
    let mut random = Random::new(1);
    let [mut open, mut held] = [0; 2];
    for _ in 0..20_000 {
        let point = [outer, outer, height].map(|half| random.between(-half, half));
        let (r, z) = (point[0].hypot(point[1]), point[2]);
        let from_parts = parts.hulls.iter().map(|hull| outside(hull, point)).fold(f64::INFINITY, f64::min);
        if r < inner - flat - tolerance && z > bottom + tolerance {
            open += 1;
            assert!(from_parts > 0.0, "{point:?} is in the cavity and in a part");
        } else if z > 0.0 && r < outer - flat && (r > inner || z < bottom) {
            held += 1;
            assert!(from_parts < tolerance, "{point:?} is in the wall and {from_parts} from all parts");
        }
    }
    assert!(open > 1000 && held > 1000, "{open} {held}");
}

#[test]
fn a_convex_mesh_is_one_part() {
    let top = revolved(&[[1e-6, -0.05], [0.03, -0.03], [0.04, 0.0], [0.03, 0.03], [1e-6, 0.05]], 16);
    let parts = top.decompose(&Decompose::within(5e-4)).unwrap();
    assert_eq!(parts.hulls.len(), 1);
    assert!(parts.protrusion < 5e-4);
}

#[test]
fn meshes_and_numbers_that_cannot_be_are_errors() {
    let error = |mesh: &Triangles, how: Decompose| mesh.decompose(&how).unwrap_err().to_string();
    let flat = Triangles { vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], faces: vec![[0, 1, 2]] };
    assert!(error(&flat, Decompose::within(1e-3)).contains("hull"));
    let missing = Triangles { faces: vec![[0, 1, 3]], ..flat.clone() };
    assert!(error(&missing, Decompose::within(1e-3)).contains("got vertex 3"));
    assert!(error(&Triangles::default(), Decompose::within(1e-3)).contains("expected triangles"));
    assert!(error(&cup(), Decompose::within(f64::NAN)).contains("tolerance"));
    assert!(error(&cup(), Decompose { parts: 0, ..Decompose::within(1e-3) }).contains("parts"));
}

#[test]
fn objects_of_an_obj_file_are_the_parts_that_were_written() {
    let folder = std::env::temp_dir().join(format!("fingertip-concave-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let parts = &*CUP_PARTS;
    std::fs::write(folder.join("cup.obj"), parts.obj()).unwrap();
    let text = |keys: &str| format!("[[object]]\nname = \"cup\"\nfreedom = \"free\"\nmass = 0.1\n{keys}\n");
    let scene = Scene::from_toml(&text("mesh = \"cup.obj\"\nparts = true"), &folder);
    let both = Scene::from_toml(&text("mesh = \"cup.obj\"\nparts = true\ndecompose = { tolerance = 1 }"), &folder);
    let alone = Scene::from_toml(&text("sphere = 1.0\ndecompose = { tolerance = 1 }"), &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    let vertices = |shape: &Shape| {
        let Shape::Hull(hull) = shape else { panic!("a part is a hull") };
        let mut vertices = hull.vertices().to_vec();
        vertices.sort_by(|a, b| a.partial_cmp(b).unwrap());
        vertices
    };
    let fingertip::description::ObjectBody::Rigid { collisions, .. } = &scene.unwrap().objects[0].body else {
        panic!("the cup is rigid")
    };
    let read: Vec<_> = collisions.iter().map(|collision| vertices(&collision.shape)).collect();
    let written: Vec<_> = parts.hulls.iter().map(|hull| vertices(&Shape::Hull(hull.clone().into()))).collect();
    assert_eq!(read, written);
    assert!(both.unwrap_err().to_string().contains("expected without parts"));
    assert!(alone.unwrap_err().to_string().contains("expected with a mesh only"));
}

/// Meshes of robots' links, with what an MJCF says of a pair of geoms.
#[test]
fn links_of_robots_are_cut_into_parts() {
    let folder = std::env::temp_dir().join(format!("fingertip-links-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("cup.obj"), obj(&cup())).unwrap();
    let urdf = "<robot name=\"r\"><link name=\"base\"/><joint name=\"j\" type=\"continuous\"><parent link=\"base\"/>\
                <child link=\"cup\"/></joint><link name=\"cup\"><collision><origin xyz=\"0 0 1\"/><geometry><mesh filename=\"cup.obj\"/></geometry>\
                </collision></link></robot>";
    std::fs::write(folder.join("r.urdf"), urdf).unwrap();
    let mjcf = "<mujoco><asset><mesh name=\"cup\" file=\"cup.obj\"/></asset><worldbody><body name=\"a\"><joint name=\"a\"/>\
                <geom name=\"cup\" type=\"mesh\" mesh=\"cup\" mass=\"1\"/><body name=\"b\"><joint name=\"b\"/>\
                <geom name=\"ball\" size=\"0.1\" mass=\"1\"/></body></body></worldbody>\
                <contact><pair geom1=\"ball\" geom2=\"cup\"/></contact></mujoco>";
    std::fs::write(folder.join("r.xml"), mjcf).unwrap();
    let robot = |file: &str| {
        let text = format!("[[robot]]\nname = \"r\"\n{file}\ndecompose = {{ tolerance = {TOLERANCE} }}\n");
        Scene::from_toml(&text, &folder).unwrap_or_else(|error| panic!("{error}")).robots.remove(0).articulation
    };
    let (urdf, mjcf) = (robot("urdf = \"r.urdf\""), robot("mjcf = \"r.xml\""));
    let mesh = MeshFile { path: folder.join("cup.obj"), scale: [1.0; 3] };
    let n = mesh.decompose(&Decompose::within(TOLERANCE)).unwrap().len();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(n > 1);
    for (articulation, z) in [(&urdf, 1.0), (&mjcf, 0.0)] {
        let cup = articulation.links.iter().find(|link| link.collisions.len() > 1).unwrap();
        assert_eq!(cup.collisions.len(), n);
        assert!(cup.collisions.iter().all(|part| part.pose.translation.z == z && part.mesh.is_none()));
    }
    // The pair of the geoms is now one with each part.
    let shapes: Vec<_> = mjcf.pairs.iter().filter_map(|pair| pair.shapes).collect();
    assert_eq!(shapes, (0..n).map(|part| [0, part]).collect::<Vec<_>>());
}

#[test]
fn a_ball_falls_into_a_cup() {
    let radius = 0.02;
    let scene = Scene::new()
        .with_params(Params { contact_distance: Some(0.05), ..Params::default() })
        .object(Object::compound("cup", collisions(&CUP_PARTS), 1.0).with_freedom(Freedom::Fixed))
        .object(Object::rigid("ball", Shape::sphere(radius), 0.1).at([0.012, 0.0, 0.09]));
    let q = left_alone(&scene, 300);
    let [_, _, bottom] = CUP;
    // The hull of the cup would hold the ball above its rim. Off the axis the ball may touch the wall: no lower than
    // the bottom.
    let height = q[2] - radius - bottom;
    assert!((-2e-3..2e-3).contains(&height), "{height} above the bottom: {q:?}");
    assert!(q[0].hypot(q[1]) < 0.04 - radius + 2e-3, "{q:?}");
}

#[test]
fn a_ring_falls_around_a_peg() {
    let [_, tube] = TORUS;
    let scene = Scene::new()
        .with_params(Params { contact_distance: Some(0.05), ..Params::default() })
        .object(Object::ground("ground", 0.0))
        .object(Object::fixed("peg", Shape::cylinder(0.02, 0.04)).at([0.0, 0.0, 0.04]))
        .object(Object::compound("ring", collisions(&TORUS_PARTS), 0.1).at([0.003, 0.0, 0.06]));
    let q = left_alone(&scene, 300);
    assert!((q[2] - tube).abs() < 2e-3 && q[0].hypot(q[1]) < 0.01, "{q:?}");
}
