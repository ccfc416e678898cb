//! Hands that follow keypoints: what they made themselves is found again, limits hold, own parts stay apart, motions
//! are smooth, and what cannot be used.

use candle_core::{DType, Device};
use fingertip::description::{Robot, Scene};
use fingertip::follow::{Follower, Map, Motion, Options, Palm, Pinch, Place, Scale, Target, fingers, follow};
use fingertip::kinematics::{FrameSpec, Points};
use fingertip::math::tensor::numbers;
use fingertip::mpc::Deviates;
use fingertip::show::read_log;
use fingertip::step::Quasidynamic;
use fingertip::{Model, shipped};
use support::largest;

/// Nothing but the targets counts.
const EXACT: Options = Options {
    smooth: 0.0,
    huber: 1.0,
    margin: None,
    stiffness: 100.0,
    speed_limits: false,
    cutoff: None,
    max_iterations: 60,
    tolerance: 1e-10,
};
const HUMAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/recorded/human_hand.csv");

fn compiled(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

fn hand(name: &str) -> Model {
    compiled(&shipped::scene(name).unwrap())
}

fn human() -> Motion {
    let text = std::fs::read_to_string(HUMAN).unwrap();
    Motion::from_text("human", &text, &[], 30.0).unwrap()
}

/// A map of positions of points, each of its own keypoint.
fn positions(places: &[Place]) -> Map {
    let keypoints: Vec<String> = (0..places.len()).map(|k| format!("k{k}")).collect();
    let targets = places.iter().zip(&keypoints).map(|(place, name)| Target::position(place.clone(), name)).collect();
    Map { keypoints, targets, palm: None, mirror: false, hold: Vec::new() }
}

/// Where points are at q.
fn at(model: &Model, places: &[Place], q: &[f64]) -> Vec<[f64; 3]> {
    let frame =
        |place: &Place| FrameSpec { xyz: place.point, ..FrameSpec::of_body(model.tree.find(&place.body).unwrap()) };
    Points::new(&model.tree, &places.iter().map(frame).collect::<Vec<_>>()).positions(q).unwrap()
}

/// The middle of each commanded joint's range, and a part of its half.
fn middle(model: &Model) -> Vec<(usize, f64, f64)> {
    let joints = model.tree.coordinates.iter().filter(|c| c.u.is_some());
    joints
        .map(|c| c.limits.map_or((c.q, 0.0, 1.0), |l| (c.q, (l.lower + l.upper) / 2.0, (l.upper - l.lower) / 2.0)))
        .collect()
}

/// The least gap of pairs of the robot's own links, by the contacts of the step.
fn own_gap(model: &Model, q: &[f64]) -> f64 {
    let step = Quasidynamic::new(model, &model.parameters).unwrap();
    let phi = numbers(&step.contacts(&model.tensor(&[q]).unwrap()).unwrap().phi).unwrap();
    let is_own = |name: &str| name.starts_with("hand/");
    let own = (0..model.nc()).filter(|&k| is_own(model.contact_names(k).0) && is_own(model.contact_names(k).1));
    own.map(|k| phi[k]).fold(f64::INFINITY, f64::min)
}

const MIMIC: &str = r#"<robot name="hand">
    <link name="palm"/><link name="a"/><link name="b"/><link name="c"/><link name="tip"/><link name="slide"/>
    <joint name="first" type="revolute"><parent link="palm"/><child link="a"/><axis xyz="0 1 0"/>
        <limit lower="-0.5" upper="1.6" effort="1" velocity="5"/></joint>
    <joint name="second" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.05 0 0"/><axis xyz="0 1 0"/>
        <limit lower="0" upper="1.6" effort="1" velocity="5"/></joint>
    <joint name="third" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.03 0 0"/><axis xyz="0 1 0"/>
        <limit lower="0" upper="1.6" effort="1" velocity="5"/><mimic joint="second" multiplier="0.7" offset="0.1"/></joint>
    <joint name="end" type="fixed"><parent link="c"/><child link="tip"/><origin xyz="0.02 0.002 0"/></joint>
    <joint name="rail" type="prismatic"><parent link="palm"/><child link="slide"/><axis xyz="0 0 1"/>
        <limit lower="0" upper="0.1" effort="1" velocity="5"/><mimic joint="first" multiplier="0.02"/></joint>
</robot>"#;

fn mimic() -> Model {
    let articulation = fingertip::description::Articulation::from_urdf_str(MIMIC, "mimic").unwrap();
    compiled(&Scene::new().robot(Robot::new("hand", articulation)))
}

/// Keypoints that the hand itself made, over a motion through most of its joints' ranges.
fn recovers(model: &Model, places: &[Place], part: f64) {
    let mut follower = Follower::new(model, &positions(places), &EXACT).unwrap();
    let joints = middle(model);
    for k in 0..80 {
        let mut q = model.tree.home();
        for (j, (place, middle, half)) in joints.iter().enumerate() {
            q[*place] = middle + part * half * (0.08 * f64::from(k) + 1.7 * j as f64).sin();
        }
        follower.step(&at(model, places, &q), 0.02).unwrap();
        let most = largest(follower.errors());
        assert!(most < 1e-6, "frame {k}: {most} m after {} steps", follower.iterations());
        // What was reached is where the joints say, by kinematics of another call.
        let reached = at(model, places, follower.q());
        let off =
            reached.iter().zip(at(model, places, &q)).map(|(a, b)| (0..3).map(|i| (a[i] - b[i]).abs()).sum::<f64>());
        assert!(largest(off.collect::<Vec<_>>()) < 2e-6);
        for (place, ..) in &joints {
            assert!((follower.q()[*place] - q[*place]).abs() < 1e-4, "frame {k}: {place}");
        }
    }
}

#[test]
fn what_a_hand_made_it_finds_again() {
    let model = hand("allegro_plate");
    let links = ["index", "middle", "ring", "thumb"];
    let places: Vec<Place> = links
        .iter()
        .flat_map(|finger| {
            ["link_2", "link_3", "tip"].map(|link| Place::new(format!("hand/{finger}_{link}"), [0.0, 0.003, 0.01]))
        })
        .collect();
    recovers(&model, &places, 0.9);
    let model = mimic();
    assert_eq!((model.nq(), model.nu()), (2, 2));
    recovers(&model, &[Place::new("hand/tip", [0.0; 3]), Place::new("hand/slide", [0.0; 3])], 0.9);
}

/// A command that pulls a tendon says its length, and joints share it as springs of their own would let them.
#[test]
fn a_tendon_is_one_command() {
    let free = MIMIC.replace(r#"<mimic joint="second" multiplier="0.7" offset="0.1"/>"#, "");
    let mut articulation = fingertip::description::Articulation::from_urdf_str(&free, "tendon").unwrap();
    // Their springs give in the ratio of 0.6 to 1: the third moves by 0.5 · 2 / 1.2 of the second.
    for (name, stiffness) in [("second", 2.0), ("third", 1.2)] {
        let joint = articulation.joints.iter_mut().find(|joint| joint.name == name).unwrap();
        joint.spring.stiffness = stiffness;
    }
    let robot = Robot::new("hand", articulation).with_tendon("second", [("third", 0.5)]).with_passive("third");
    let model = compiled(&Scene::new().robot(robot));
    let tip = [Place::new("hand/tip", [0.0; 3])];
    let mut follower = Follower::new(&model, &positions(&tip), &EXACT).unwrap();
    let joint = |name: &str| model.joint(name).unwrap().q;
    let mut q = model.tree.home();
    (q[joint("hand/first")], q[joint("hand/second")], q[joint("hand/third")]) = (0.3, 0.72, 0.6);
    follower.step(&at(&model, &tip, &q), 0.02).unwrap();
    assert!(follower.errors()[0] < 1e-6, "{:?}", follower.errors());
    let u = follower.u()[model.joint("hand/second").unwrap().u.unwrap()];
    assert!((u - (0.72 + 0.5 * 0.6)).abs() < 1e-5, "{u}");
}

#[test]
fn limits_hold_exactly() {
    let model = hand("allegro_plate");
    let tips: Vec<Place> = fingers(&model).unwrap().into_iter().map(|finger| finger.tip).collect();
    let mut deviates = Deviates::new(5, 0);
    for speed_limits in [false, true] {
        let options = Options { speed_limits, ..Options::default() };
        let mut follower = Follower::new(&model, &positions(&tips), &options).unwrap();
        let mut touched = 0;
        let mut before: Option<Vec<f64>> = None;
        for _ in 0..60 {
            let far: Vec<[f64; 3]> = tips.iter().map(|_| std::array::from_fn(|_| 0.3 * deviates.normal())).collect();
            follower.step(&far, 0.01).unwrap();
            for c in model.tree.coordinates.iter().filter(|c| c.u.is_some()) {
                let (x, limits) = (follower.q()[c.q], c.limits.unwrap());
                assert!(limits.lower <= x && x <= limits.upper, "{}: {x}", c.name);
                assert_eq!(x, follower.u()[c.u.unwrap()]);
                touched += u32::from(x == limits.lower || x == limits.upper);
                if let Some(before) = before.as_ref().filter(|_| speed_limits) {
                    assert!((x - before[c.q]).abs() <= c.velocity * 0.01 * (1.0 + 1e-12), "{}", c.name);
                }
            }
            before = Some(follower.q().to_vec());
        }
        assert!(touched > 50, "{touched}");
    }
}

/// Two fingertips are asked to be at one place: they stay apart by the margin but for what springs give, and do not
/// where nothing keeps them.
#[test]
fn own_parts_stay_apart() {
    let model = hand("allegro_plate");
    let tips = [Place::new("hand/index_tip", [0.0; 3]), Place::new("hand/middle_tip", [0.0; 3])];
    let mut least = Vec::new();
    for margin in [None, Some(0.0), Some(2e-3)] {
        let options = Options { margin, ..Options::default() };
        let mut follower = Follower::new(&model, &positions(&tips), &options).unwrap();
        let mut gap = f64::INFINITY;
        for k in 0..60 {
            // Bent fingers, and the middle between their tips.
            let mut q = model.tree.home();
            for finger in ["index", "middle"] {
                for joint in 0..4 {
                    let bent = if joint == 0 { 0.0 } else { 0.6 + 0.2 * (0.1 * f64::from(k)).sin() };
                    q[model.joint(&format!("hand/{finger}_{joint}")).unwrap().q] = bent;
                }
            }
            let ends = at(&model, &tips, &q);
            let p = std::array::from_fn(|i| (ends[0][i] + ends[1][i]) / 2.0);
            follower.step(&[p, p], 0.02).unwrap();
            gap = gap.min(own_gap(&model, follower.q()));
            if let Some(own) = follower.gap() {
                assert!(margin.is_some() && own >= own_gap(&model, follower.q()) - 1e-9);
            }
        }
        least.push(gap);
    }
    assert!(least[0] < -5e-3 && least[1] > -4e-4 && least[2] > 1.6e-3, "{least:?}");
}

/// Follows the human's hand: what is missed, how near own parts come, and how far the worst closed fingertips are off.
fn human_on(scene: &str) -> (fingertip::follow::Followed, Model) {
    let model = hand(scene);
    let map = Map::of_hand(&model).unwrap();
    (follow(&model, &human(), &map, &Options::default()).unwrap(), model)
}

#[test]
fn shipped_hands_follow_a_human() {
    for (scene, n_fingers, most) in [("allegro_plate", 4, 0.02), ("leap_cube", 4, 0.01), ("hand_ball", 5, 0.01)] {
        let (found, model) = human_on(scene);
        assert_eq!(fingers(&model).unwrap().len(), n_fingers);
        assert_eq!(found.targets.len(), 2 * n_fingers - 1);
        for (k, name) in found.targets.iter().enumerate() {
            let (mean, largest, n) = found.error(k);
            println!("{scene} {name}: {:.1} mm, {:.1} mm in {n} frames", 1e3 * mean, 1e3 * largest);
            assert!(mean < most, "{scene} {name}: {mean}");
        }
        if scene == "allegro_plate" {
            assert!(found.n_pairs > 50 && found.least_gap().unwrap() > 0.0, "{:?}", found.least_gap());
        }
        let rest: Vec<f64> = model.tree.home();
        for q in found.q.chunks(model.nq()) {
            let free = model.tree.coordinates.iter().filter(|c| c.u.is_none());
            free.for_each(|c| assert_eq!(q[c.q..c.q + c.kind.nq()], rest[c.q..c.q + c.kind.nq()]));
        }
    }
}

/// A finger's name may stand before a part's without a break, as in Shadow's hand.
#[test]
fn fingers_are_found_by_short_names() {
    let mut urdf =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/robots/allegro16.urdf")).unwrap();
    let model = |urdf: &str| {
        let articulation = fingertip::description::Articulation::from_urdf_str(urdf, "hand").unwrap();
        compiled(&Scene::new().robot(Robot::new("hand", articulation)))
    };
    let expected = fingers(&model(&urdf)).unwrap();
    for (long, short) in [("index", "ff"), ("middle", "mf"), ("ring", "rf"), ("thumb", "th")] {
        for (from, to) in [("link_0", "knuckle"), ("link_1", "proximal"), ("link_2", "middle"), ("link_3", "distal")] {
            urdf = urdf.replace(&format!("\"{long}_{from}\""), &format!("\"rh_{short}{to}\""));
        }
        urdf = urdf.replace(&format!("\"{long}_tip\""), &format!("\"rh_{short}tip\""));
    }
    assert!(!urdf.contains("link name=\"thumb") && urdf.contains("link name=\"rh_thdistal\""));
    let found = fingers(&model(&urdf)).unwrap();
    assert_eq!(found.iter().map(|finger| finger.name).collect::<Vec<_>>(), ["thumb", "index", "middle", "ring"]);
    for (one, other) in found.iter().zip(&expected) {
        assert_eq!((one.name, one.radius, one.tip.point), (other.name, other.radius, other.tip.point));
    }
}

/// Where the human's hand is, how it is turned and how large it is plays no part; a left hand is a mirrored right one.
#[test]
fn the_palm_and_the_size_are_taken_out() {
    let model = hand("allegro_plate");
    let map = Map::of_hand(&model).unwrap();
    let mut motion = human();
    motion.frames.truncate(40);
    motion.time.truncate(40);
    let expected = follow(&model, &motion, &map, &Options::default()).unwrap();
    let (sine, cosine) = 0.7_f64.sin_cos();
    let moved = |frame: &Vec<[f64; 3]>| -> Vec<[f64; 3]> {
        let one =
            |[x, y, z]: [f64; 3]| [0.8 * (cosine * x - sine * z) + 0.3, 0.8 * y - 0.2, 0.8 * (sine * x + cosine * z)];
        frame.iter().map(|&p| one(p)).collect()
    };
    let other = Motion { frames: motion.frames.iter().map(moved).collect(), ..motion.clone() };
    // Fingertips count as closed by their distance in metres: they are open here.
    let found = follow(&model, &other, &map, &Options::default()).unwrap();
    let off = |q: &[f64]| largest(q.iter().zip(&expected.q).map(|(a, b)| a - b).collect::<Vec<_>>());
    assert!(off(&found.q) < 1e-3, "{}", off(&found.q));
    let flipped = |frame: &Vec<[f64; 3]>| frame.iter().map(|&[x, y, z]| [x, -y, z]).collect();
    let left = Motion { frames: motion.frames.iter().map(flipped).collect(), ..motion.clone() };
    let found = follow(&model, &left, &Map { mirror: true, ..map.clone() }, &Options::default()).unwrap();
    assert!(off(&found.q) < 1e-3, "{}", off(&found.q));
    let found = follow(&model, &left, &map, &Options::default()).unwrap();
    assert!(off(&found.q) > 0.1, "{}", off(&found.q));
}

/// A hand follows itself by its joints' log, and another hand.
#[test]
fn hands_follow_hands() {
    let model = hand("allegro_plate");
    let joints: Vec<String> = model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.name.clone()).collect();
    let mut text = format!("time,{}\n", joints.join(","));
    for k in 0..60 {
        let value = |j: usize| {
            if j.is_multiple_of(4) { 0.0 } else { 0.35 - 0.3 * (0.1 * f64::from(k) + j as f64 * 0.05).cos() }
        };
        let row: Vec<String> = (0..joints.len()).map(|j| if j >= 12 { 0.8 } else { value(j) }.to_string()).collect();
        text += &format!("{},{}\n", f64::from(k) / 30.0, row.join(","));
    }
    let folder = tempfile();
    let path = folder.join("log.csv");
    std::fs::write(&path, text).unwrap();
    let motion = Motion::of_hand(&model, &read_log(&model, &path).unwrap()).unwrap();
    assert_eq!(motion.keypoints.len(), 17);
    let found =
        follow(&model, &motion, &Map::of_hand(&model).unwrap(), &Options { margin: None, ..Options::default() })
            .unwrap();
    for k in 0..3 {
        // The fingers' scale is 1, and they are where they were but for the smoothing.
        let finger = found.targets[1 + k].clone();
        assert!(
            (found.scales[1 + k] - 1.0).abs() < 0.02 && found.error(1 + k).0 < 2e-3,
            "{finger}: {:?}",
            found.error(1 + k)
        );
    }
    let other = hand("leap_cube");
    let found = follow(&other, &motion, &Map::of_hand(&other).unwrap(), &Options::default()).unwrap();
    assert!(found.error(1).0 < 0.02, "{:?}", found.error(1));
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("fingertip-follow-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Noise of a tracker on keypoints: joints shake less with a weight on changes, and less with a filter.
#[test]
fn noise_is_smoothed() {
    let model = hand("allegro_plate");
    let map = Map::of_hand(&model).unwrap();
    let shakes = |options: &Options| {
        let (mut motion, mut deviates) = (human(), Deviates::new(7, 0));
        let first = motion.frames[0].clone();
        for frame in &mut motion.frames {
            frame.clone_from(&first);
            frame.as_flattened_mut().iter_mut().for_each(|x| *x += 2e-3 * deviates.normal());
        }
        let q = follow(&model, &motion, &map, options).unwrap().q;
        let n = model.nq();
        q[20 * n..].windows(n + 1).map(|w| (w[n] - w[0]).powi(2)).sum::<f64>().sqrt()
    };
    let plain = Options { smooth: 0.0, margin: None, ..Options::default() };
    let [raw, weighed, filtered] =
        [plain.clone(), Options { smooth: 0.1, ..plain.clone() }, Options { cutoff: Some(1.0), ..plain }]
            .map(|options| shakes(&options));
    assert!(weighed < 0.5 * raw && filtered < 0.4 * raw, "{raw} {weighed} {filtered}");
}

/// A keypoint that a tracker lost: its finger stays, the others follow.
#[test]
fn lost_keypoints_hold_still() {
    let model = hand("allegro_plate");
    let (map, motion) = (Map::of_hand(&model).unwrap(), human());
    let mut follower = Follower::new(&model, &map, &Options { margin: None, ..Options::default() }).unwrap();
    follower.step(&motion.frames[0], 0.03).unwrap();
    let index = model.joint("hand/index_1").unwrap().q;
    let (before, thumb) = (follower.q()[index], follower.errors()[0]);
    let mut frame = motion.frames[10].clone();
    frame[8] = [f64::NAN; 3];
    follower.step(&frame, 0.03).unwrap();
    assert!(follower.q()[index] == before && follower.errors()[1].is_nan() && !thumb.is_nan());
    // Without a palm nothing is known.
    let q = follower.q().to_vec();
    follower.step(&[[f64::NAN; 3]; 21], 0.03).unwrap();
    assert_eq!(follower.q(), q);
}

#[test]
fn a_map_is_the_same_from_its_file() {
    let map = Map::of_hand(&hand("hand_ball")).unwrap();
    assert_eq!(map.hold, ["hand/slider_z"].map(str::to_owned));
    assert_eq!(Map::from_toml("map.toml", &map.to_toml()).unwrap(), map);
    let of_order = |order: &str| {
        Map::from_toml("m", &format!("order = \"{order}\"\n[[position]]\nlink = \"a\"\nkeypoint = \"wrist\""))
    };
    assert_eq!(of_order("mano").unwrap().keypoints[16], "thumb_tip");
    assert_eq!(of_order("mediapipe").unwrap().keypoints[4], "thumb_tip");
}

#[test]
fn what_cannot_be_followed() {
    let model = hand("allegro_plate");
    let tip = Place::new("hand/index_tip", [0.0; 3]);
    let map = positions(std::slice::from_ref(&tip));
    let made = |map: &Map, options: &Options| fingertip::message(&Follower::new(&model, map, options).unwrap_err());
    let with = |change: &dyn Fn(&mut Map)| {
        let mut own = map.clone();
        change(&mut own);
        made(&own, &Options::default())
    };
    assert_eq!(with(&|map| map.targets.clear()), "follow: expected at least one target");
    assert_eq!(
        with(&|map| map.targets[0].to.body = "hand/index_tp".into()),
        "target \"k0\": bodies: there is no body \"hand/index_tp\"; did you mean \"hand/index_tip\"?"
    );
    assert_eq!(
        with(&|map| map.targets[0].keypoints.1 = "k1".into()),
        "target \"k0\": keypoints: there is no keypoint \"k1\"; did you mean \"k0\"?"
    );
    assert_eq!(with(&|map| map.targets[0].weight = 0.0), "target \"k0\": weight: expected a positive number, got 0");
    assert_eq!(
        with(&|map| map.targets[0].scale = Scale::Given(-1.0)),
        "target \"k0\": scale: expected a positive number, got -1"
    );
    assert!(with(&|map| map.targets[0].scale = Scale::Auto).contains("a position without a palm"));
    assert!(
        with(&|map| map.targets[0].to.point[1] = f64::NAN).contains("point of \"hand/index_tip\": expected finite")
    );
    let pinch = Pinch { near: 0.02, far: 0.01, touch: 0.0 };
    assert!(
        with(&|map| map.targets[0].pinch = Some(pinch)).contains("pinch: expected two points of the hand, got one")
    );
    let pair = || Target::vector(tip.clone(), tip.clone(), ["k0", "k0"], Scale::Given(1.0));
    assert!(
        with(&|map| map.targets.push(pair().with_pinch(pinch)))
            .ends_with("pinch: expected 0 ≤ near < far in m, got near = 0.02, far = 0.01")
    );
    assert_eq!(
        with(&|map| map.hold.push("hand/index_9".into())),
        "hold: there is no commanded joint \"hand/index_9\"; did you mean \"hand/index_0\"?"
    );
    let palm = |places: [Place; 3]| Some(Palm { keypoints: ["k0", "k0", "k0"].map(str::to_owned), places });
    assert_eq!(
        with(&|map| map.palm = palm([tip.clone(), tip.clone(), tip.clone()])),
        "palm: expected three points of the hand that are not on a line"
    );
    let options = |change: fn(&mut Options)| {
        let mut own = Options::default();
        change(&mut own);
        made(&map, &own)
    };
    assert_eq!(options(|o| o.smooth = -1.0), "smooth: expected a number that is not negative, got -1");
    assert_eq!(options(|o| o.huber = 0.0), "huber: expected a positive number, got 0");
    assert_eq!(options(|o| o.stiffness = f64::NAN), "stiffness: expected a positive number, got NaN");
    assert_eq!(options(|o| o.tolerance = 0.0), "tolerance: expected a positive number, got 0");
    assert_eq!(options(|o| o.margin = Some(-1e-3)), "margin: expected a number that is not negative, got -0.001");
    assert_eq!(options(|o| o.cutoff = Some(0.0)), "cutoff: expected a positive frequency in Hz, got 0");
    assert_eq!(options(|o| o.max_iterations = 0), "max_iterations: expected at least 1, got 0");

    let mut follower = Follower::new(&model, &map, &Options::default()).unwrap();
    let mut step = |frame: &[[f64; 3]], dt| fingertip::message(&follower.step(frame, dt).unwrap_err());
    assert_eq!(step(&[], 0.1), "keypoints: expected 1 of them, got 0");
    assert!(step(&[[f64::INFINITY, 0.0, 0.0]], 0.1).contains("got an infinite one"));
    assert_eq!(step(&[[0.0; 3]], 0.0), "dt: expected a positive time in s, got 0");
    assert!(fingertip::message(&follower.reset(Some(&[0.0])).unwrap_err()).starts_with("q: expected "));
    let human = Map::of_hand(&model).unwrap();
    let mut follower = Follower::new(&model, &human, &Options::default()).unwrap();
    let line = fingertip::message(&follower.step(&[[0.0; 3]; 21], 0.1).unwrap_err());
    assert_eq!(line, "scale: target \"thumb\": expected bones with a length, got none");
    let unnamed = fingertip::message(&fingers(&hand("push")).unwrap_err());
    assert!(unnamed.starts_with("fingers: expected links named after fingers"), "{unnamed}");
}

#[test]
fn motions_and_maps_that_cannot_be_read() {
    let names: Vec<String> = ["a".to_owned()].to_vec();
    let read = |text: &str| Motion::from_text("m", text, &names, 30.0).unwrap_err().to_string();
    let table = "time,a.x,a.y,a.z\n";
    for (text, expected) in [
        ("", "m: expected a line of column names"),
        ("time,b\n0,1\n", "m: expected columns of keypoints, as \"wrist.x\", \"wrist.y\", \"wrist.z\", got none"),
        ("a.x,a.y\n1,2\n", "m: expected one column \"a.z\", got 0"),
        ("a.x,a.y,a.z,a.z\n1,2,3,4\n", "m: expected one column \"a.z\", got 2"),
        (table, "m: expected at least one frame"),
        (&format!("{table}0,1,2\n"), "m: line 2: expected 4 cells as in the first line, got 3"),
        (&format!("{table}0,1,2,x\n"), "m: line 2: column \"a.z\": expected a number, got \"x\""),
        (&format!("{table}0,1,2,3\n0,1,2,3\n"), "m: frame 1: expected a time after 0 s, got 0"),
        (&format!("{table}0,1,2,inf\n"), "m: line 2: column \"a.z\": expected a number, got \"inf\""),
        ("[[0, 1]]", "m: line 1: expected [[x, y, z], …] or {\"time\": s, \"keypoints\": [[x, y, z], …]}"),
        ("[[0, 1, 2], [0, 1, 2]]", "m: line 1: expected 1 keypoints, got 2"),
        ("{\"keypoints\": []}", "m: line 1: expected 1 keypoints, got 0"),
    ] {
        assert_eq!(read(text), expected);
    }
    let lines =
        Motion::from_text("m", "[[0, 1, 2]]\n{\"time\": 0.5, \"keypoints\": [[null, 1, 2]]}\n", &names, 30.0).unwrap();
    assert!(lines.time == [0.0, 0.5] && lines.frames[0] == [[0.0, 1.0, 2.0]] && lines.frames[1][0][0].is_nan());
    let map = |text: &str| Map::from_toml("map.toml", text).unwrap_err().to_string();
    let target = "[[position]]\nlink = \"a\"\nkeypoint = \"wrist\"\n";
    assert_eq!(map(""), "map.toml: expected at least one [[position]] or [[vector]]");
    assert_eq!(
        map(&format!("order = \"openpose\"\n{target}")),
        "map.toml: order: expected \"mediapipe\" or \"mano\", got \"openpose\""
    );
    assert!(
        map(&format!("order = \"mano\"\nkeypoints = [\"wrist\"]\n{target}")).contains("expected this or keypoints")
    );
    assert!(map(&format!("keypoints = [\"wrist\", \"wrist\"]\n{target}")).contains("wrist"));
    assert!(map(&format!("{target}scale = \"big\"")).contains("expected a number or \"auto\", got \"big\""));
    assert!(map(&format!("{target}wight = 1.0")).contains("unknown field `wight`; did you mean `weight`?"));
}
