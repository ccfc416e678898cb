//! Roadmaps: the graph against enumeration and a closure, files, resuming, and a goal that the planner does not reach
//! alone.

use std::collections::BTreeMap;

use fingertip::mpc::cost::Goal;
use fingertip::mpc::roadmap::{Guide, Hop, LOST, Options, Passage, Roadmap};
use fingertip::mpc::{Deviates, Measured, Supervisor, Task};
use serde_json::{Value, json};

/// A box that is to come towards where the tip stands, which has to go around it.
fn push() -> Task {
    fingertip::shipped::task("planar_push_around").unwrap()
}

/// A file of a roadmap of that task with nodes that are nowhere in particular.
fn file(nodes: usize, edges: &[(usize, usize, usize, usize, f64)]) -> Value {
    let edge = |&(from, to, tries, successes, seconds): &(usize, usize, usize, usize, f64)| json!({ "from": from, "to": to, "tries": tries, "successes": successes, "seconds": seconds });
    json!({
        "format": "fingertip roadmap",
        "version": 1,
        "object": "box",
        "q_names": ["box.x", "box.y", "box.yaw", "pusher/x", "pusher/y"],
        "near": 1.7,
        "drawn": 16,
        "nodes": (0..nodes).map(|i| [0.1 * i as f64, 0.5, 0.0, 0.3, 0.7]).collect::<Vec<_>>(),
        "edges": edges.iter().map(edge).collect::<Vec<_>>(),
    })
}

fn whole(deviates: &mut Deviates, below: usize) -> usize {
    (deviates.even() * below as f64) as usize
}

/// Tries, successes and seconds by their nodes.
type Edges = BTreeMap<(usize, usize), (usize, usize, f64)>;

/// A graph drawn at random.
fn drawn(deviates: &mut Deviates, nodes: usize) -> (Roadmap, Edges) {
    let mut edges = BTreeMap::new();
    for _ in 0..2 * nodes {
        let (from, to) = (whole(deviates, nodes), whole(deviates, nodes));
        if from != to {
            let tries = 1 + whole(deviates, 4);
            let successes = whole(deviates, tries + 1);
            let seconds = if successes > 0 { 9.0 * deviates.even() } else { 0.0 };
            edges.insert((from, to), (tries, successes, seconds));
        }
    }
    let list: Vec<_> = edges.iter().map(|(&(from, to), &(tries, n, s))| (from, to, tries, n, s)).collect();
    (Roadmap::from_json(&file(nodes, &list).to_string()).unwrap(), edges)
}

/// The cost of the cheapest of all ways without a node twice, from a node to the goal.
fn cheapest(edges: &Edges, ends: &[(usize, f64)], at: usize, been: &mut Vec<usize>) -> f64 {
    been.push(at);
    let mut best = ends.iter().filter(|end| end.0 == at).map(|end| end.1).fold(f64::INFINITY, f64::min);
    for (&(from, to), &(tries, successes, seconds)) in edges {
        if from == at && successes > 0 && !been.contains(&to) {
            let chance = (successes + 1) as f64 / (tries + 2) as f64;
            let cost = seconds / successes as f64 - LOST * chance.ln();
            best = best.min(cost + cheapest(edges, ends, to, been));
        }
    }
    been.pop();
    best
}

#[test]
fn shortest_is_the_best_of_all() {
    let mut deviates = Deviates::new(5, 0);
    let mut found = 0;
    for _ in 0..200 {
        let n = 2 + whole(&mut deviates, 5);
        let (roadmap, edges) = drawn(&mut deviates, n);
        let mut some = |most: usize| -> Vec<(usize, f64)> {
            (0..1 + whole(&mut deviates, most)).map(|_| (whole(&mut deviates, n), 5.0 * deviates.even())).collect()
        };
        let (starts, ends) = (some(2), some(2));
        let direct = (deviates.even() < 0.3).then(|| 20.0 * deviates.even());
        let all = starts.iter().map(|&(node, cost)| cost + cheapest(&edges, &ends, node, &mut Vec::new()));
        let expected = all.fold(direct.unwrap_or(f64::INFINITY), f64::min);
        let path = roadmap.shortest(&starts, &ends, direct);
        match path {
            None => assert!(expected.is_infinite(), "{expected}"),
            Some(path) => {
                assert!((path.cost - expected).abs() < 1e-9 * (1.0 + expected), "{} {expected}", path.cost);
                assert_eq!(path.hops.last(), Some(&Hop::Goal));
                // Its parts are edges.
                for hops in path.hops.windows(2) {
                    if let [Hop::Node(from), Hop::Node(to)] = hops {
                        assert!(edges[&(*from, *to)].1 > 0);
                    }
                }
                found += 1;
            }
        }
    }
    assert!(found > 50, "{found}");
}

#[test]
fn what_is_reachable_is_the_closure() {
    let mut deviates = Deviates::new(6, 0);
    for _ in 0..50 {
        let n = 2 + whole(&mut deviates, 6);
        let (roadmap, edges) = drawn(&mut deviates, n);
        let mut closure: Vec<Vec<bool>> = (0..n).map(|i| (0..n).map(|j| i == j).collect()).collect();
        for (&(from, to), _) in edges.iter().filter(|(_, edge)| edge.1 > 0) {
            closure[from][to] = true;
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    closure[i][j] |= closure[i][k] && closure[k][j];
                }
            }
        }
        assert_eq!(roadmap.reachable(), closure);
    }
}

#[test]
fn what_happened_is_counted() {
    let mut roadmap = Roadmap::from_json(&file(3, &[(0, 1, 2, 1, 3.0)]).to_string()).unwrap();
    let passage = |from, to, arrived| Passage { from, to, arrived, seconds: 2.0 };
    roadmap.note(&[passage(0, 1, true), passage(0, 1, false), passage(1, 2, true), passage(2, 7, true)]);
    let edges: Vec<_> = roadmap.edges().map(|(key, edge)| (key, edge.tries, edge.successes, edge.seconds)).collect();
    assert_eq!(edges, [((0, 1), 4, 2, 5.0), ((1, 2), 1, 1, 2.0)]);
}

#[test]
fn files_that_are_wrong() {
    let folder = std::env::temp_dir().join(format!("fingertip_roadmap_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("push.json");
    let roadmap = drawn(&mut Deviates::new(7, 0), 6).0;
    roadmap.save(&path).unwrap();
    assert_eq!(Roadmap::load(&path).unwrap(), roadmap);

    let one = file(2, &[(0, 1, 2, 1, 3.0)]);
    let with = |key: &str, value: Value| {
        let mut file = one.clone();
        file[key] = value;
        file.to_string()
    };
    let edge = |key: &str, value: Value| {
        let mut file = one.clone();
        file["edges"][0][key] = value;
        file.to_string()
    };
    let twice = file(2, &[(0, 1, 2, 1, 3.0), (1, 0, 1, 0, 0.0)]).to_string().replace(
        "\"from\":1,\"seconds\":0.0,\"successes\":0,\"to\":0",
        "\"from\":0,\"seconds\":0.0,\"successes\":0,\"to\":1",
    );
    for (text, expected) in [
        (String::new(), "roadmap: EOF"),
        ("[1]".to_owned(), "roadmap: invalid"),
        ("{}".to_owned(), "format: expected \"fingertip roadmap\", got none"),
        (with("format", json!("recording")), "format: expected \"fingertip roadmap\", got \"recording\""),
        (with("version", json!(2)), "version: expected 1, got 2"),
        (with("colour", json!(2)), "roadmap: unknown field `colour`"),
        (with("near", json!(-1.0)), "near: expected a number from 0 up, got -1"),
        (with("nodes", json!([[0.0]])), "nodes[0]: expected 5 numbers, got 1"),
        (with("nodes", json!([[0, 0, 0, 0, null]])), "roadmap: invalid type: null"),
        (edge("to", json!(2)), "edges[0]: expected nodes below 2, got 2"),
        (edge("to", json!(0)), "edges[0]: expected two nodes, got 0 twice"),
        (edge("successes", json!(3)), "edges[0]: expected at most as many successes as tries, 2, got 3"),
        (edge("seconds", json!(-3.0)), "edges[0]: expected seconds from 0 up, got -3"),
        (edge("tries", json!(-3)), "roadmap: invalid value"),
        (twice, "edges[1]: expected another edge than one from 0 to 1 again"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let message = Roadmap::load(&path).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}: {expected}", path.display())), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(Roadmap::load(&path).unwrap_err().to_string().contains("push.json"));

    let others = push();
    assert!(Roadmap::from_json(&one.to_string()).unwrap().check(&others).is_ok());
    for (key, value, expected) in [
        ("object", json!("ball"), "object: expected the task's \"box\", got \"ball\""),
        (
            "q_names",
            json!(["box.x", "box.y", "box.yaw", "pusher/y", "pusher/x"]),
            "q_names: expected the task's \"pusher/x\" at place 3",
        ),
    ] {
        let message = Roadmap::from_json(&with(key, value)).unwrap().check(&others).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

fn options() -> Options {
    Options { nodes: 12, neighbours: 3, tries: 1, joints: true, seed: 0 }
}

/// As many rounds as are asked for.
fn built(roadmap: &mut Roadmap, task: &Task, rounds: usize) {
    let mut count = 0;
    roadmap
        .build(task, &options(), |_, _| {
            count += 1;
            count <= rounds
        })
        .unwrap();
}

#[test]
fn resumed_and_with_any_threads() {
    let task = push();
    let with = |threads: usize, work: &(dyn Fn() -> Roadmap + Sync)| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    };
    let at_once = with(1, &|| {
        let mut roadmap = Roadmap::new(&task);
        built(&mut roadmap, &task, 3);
        roadmap
    });
    let resumed = with(3, &|| {
        let mut roadmap = Roadmap::new(&task);
        built(&mut roadmap, &task, 1);
        let mut roadmap = Roadmap::from_json(&roadmap.to_json()).unwrap();
        built(&mut roadmap, &task, 2);
        roadmap
    });
    assert_eq!(at_once.edges().map(|(_, edge)| edge.tries).sum::<usize>(), 48);
    assert_eq!(at_once, resumed);
}

/// Whether the box comes to its goal, on the plant of our own step.
fn reaches(task: &Task, mut supervisor: Supervisor, goal: &Goal, mut q: Vec<f64>) -> bool {
    let plant = task.simulator().with_kappa(1e6).unwrap();
    for _ in 0..task.cap {
        let answer = supervisor.answer(&Measured { q: q.clone(), ..Measured::default() }, None).unwrap();
        let held = plant.advance(&q, &answer.u, None).unwrap();
        q = held.q[held.q.len() - q.len()..].to_vec();
        if task.is_small(&task.errors(goal, &q).unwrap()) {
            return true;
        }
    }
    false
}

/// The planner pushes from where the tip is, and its supervisor's ways out do not lead around the box. The roadmap
/// does.
#[test]
fn around_the_far_side() {
    let task = push();
    let mut plain = task.clone();
    plain.supervision = None;
    let episode = task.episode(0, 0).unwrap();
    let reaches = |task: &Task, guide: Option<Guide>| {
        let supervisor = Supervisor::new(task, &episode).unwrap();
        let supervisor = match guide {
            Some(guide) => supervisor.with_guide(guide),
            None => supervisor,
        };
        reaches(task, supervisor, &episode.goal, episode.start.q.clone())
    };
    assert!(!reaches(&plain, None) && !reaches(&task, None));
    let mut roadmap = Roadmap::new(&task);
    built(&mut roadmap, &task, usize::MAX);
    let query = roadmap.query(&task, &episode.start.q, &episode.goal).unwrap();
    let path = query.path.unwrap();
    assert!(path.hops.len() > 1 && path.cost.is_finite(), "{path:?}");
    assert!(reaches(&task, Some(Guide::new(roadmap.clone()))));
    // Without the task's supervisor a roadmap is not asked.
    assert!(!reaches(&plain, Some(Guide::new(roadmap.clone()))));
}
