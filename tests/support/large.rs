//! Scenes and meshes of any size, for times of setting up.

use std::f64::consts::{PI, TAU};
use std::fmt::Write;

use fingertip::Result;
use fingertip::description::{Articulation, Collision, Freedom, Object, PairRule, Robot, Scene, Shape};
use nalgebra::Isometry3;

/// `n` free balls in a grid: each may touch each, n (n − 1)/2 pairs.
pub fn balls(n: usize) -> Scene {
    let at = |k: usize| [k % 6, k / 6 % 6, k / 36].map(|i| 0.1 * i as f64);
    let ball = |k: usize| Object::rigid(format!("ball{k}"), Shape::sphere(0.04), 0.1).at(at(k));
    (0..n).fold(Scene::new(), |scene, k| scene.object(ball(k)))
}

fn link(name: &str) -> String {
    format!(
        "<link name=\"{name}\"><inertial><mass value=\"0.1\"/><inertia ixx=\"1e-5\" iyy=\"1e-5\" izz=\"1e-5\" ixy=\"0\" \
         ixz=\"0\" iyz=\"0\"/></inertial></link>\n"
    )
}

fn joint(k: usize, kind: &str, inner: &str) -> String {
    format!(
        "<joint name=\"joint{k}\" type=\"{kind}\"><parent link=\"link{}\"/><child link=\"link{k}\"/>{inner}</joint>\n",
        k - 1
    )
}

/// The URDF of a chain of `n` joints, of which the first turns; the others turn too, or are fixed.
pub fn chain_urdf(n: usize, fixed: bool) -> String {
    let (mut links, mut joints) = (String::from("<link name=\"link0\"/>\n"), String::new());
    let length = 0.5 / n as f64;
    for k in 1..=n {
        let axis = if k % 2 == 0 { "1 0 0" } else { "0 1 0" };
        let origin = format!("<origin xyz=\"0 0 {length}\"/>");
        links += &link(&format!("link{k}"));
        joints += &if fixed && k > 1 {
            joint(k, "fixed", &origin)
        } else {
            let limit = "<limit lower=\"-2\" upper=\"2\" effort=\"1\" velocity=\"1\"/>";
            joint(k, "revolute", &format!("{origin}<axis xyz=\"{axis}\"/>{limit}"))
        };
    }
    format!("<robot name=\"chain\">{links}{joints}</robot>")
}

/// That chain, whose tip may touch a ball on the ground.
pub fn chain(n: usize, fixed: bool) -> Result<Scene> {
    let urdf = Articulation::from_urdf_str(&chain_urdf(n, fixed), "chain")?;
    let tip = format!("link{n}");
    let robot = Robot::new("chain", urdf)
        .with_base(Isometry3::translation(0.0, 0.0, 0.04))
        .with_collisions([(tip.as_str(), Collision::centred(Shape::sphere(0.02)))])?;
    let ball = Object::rigid("ball", Shape::sphere(0.04), 0.5).at([0.07, 0.0, 0.54]).with_freedom(Freedom::Translation);
    let mut scene = Scene::new().object(ball).object(Object::ground("ground", 0.5)).robot(robot);
    scene.pairs.push(PairRule::exclude("chain", "ground"));
    Ok(scene)
}

/// Points of a ball, evenly spread (Fibonacci's lattice); each is a corner of their hull.
pub fn ball_points(n: usize) -> Vec<[f64; 3]> {
    let golden = PI * (3.0 - 5.0_f64.sqrt());
    let at = |k: usize| {
        let z = 1.0 - (2 * k + 1) as f64 / n as f64;
        let (radius, angle) = ((1.0 - z * z).sqrt(), golden * k as f64);
        [radius * angle.cos(), radius * angle.sin(), z]
    };
    (0..n).map(at).collect()
}

/// An OBJ file of points, in faces that mean nothing.
pub fn obj(points: &[[f64; 3]]) -> String {
    let mut text = String::new();
    points.iter().for_each(|[x, y, z]| writeln!(text, "v {x} {y} {z}").unwrap_or_default());
    (1..points.len().saturating_sub(1)).for_each(|k| writeln!(text, "f {k} {} {}", k + 1, k + 2).unwrap_or_default());
    text
}

/// A binary STL file of about `n` triangles: a ball with bumps, its radius 1 ± `bump`.
pub fn stl(n: usize, bump: f64) -> Vec<u8> {
    let side = ((n / 2) as f64).sqrt().round() as usize;
    let point = |i: usize, j: usize| {
        let (u, v) = (PI * i as f64 / side as f64, TAU * (j % side) as f64 / side as f64);
        let radius = 1.0 + bump * (9.0 * u).sin() * (7.0 * v).cos();
        [u.sin() * v.cos(), u.sin() * v.sin(), u.cos()].map(|x| (radius * x) as f32)
    };
    let mut bytes = vec![0; 80];
    bytes.extend(((2 * side * side) as u32).to_le_bytes());
    for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
        let [a, b, c, d] = [point(i, j), point(i + 1, j), point(i, j + 1), point(i + 1, j + 1)];
        for triangle in [[a, b, c], [c, b, d]] {
            bytes.extend([0; 12]);
            bytes.extend(triangle.iter().flatten().flat_map(|x| x.to_le_bytes()));
            bytes.extend([0; 2]);
        }
    }
    bytes
}
