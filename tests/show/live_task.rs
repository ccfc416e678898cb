//! A task on the live page: the plan and its cost arrive, a pull disturbs it, it recovers, and other goals are had on
//! request.

use crate::live_client::{Client, body, distance, header, newest, pose};
use fingertip::mpc::Task;
use fingertip::show::LiveServer;
use serde_json::{Value, json};
use support::browser::{self, Browser};

fn serve(task: &str) -> LiveServer {
    LiveServer::task(Task::load(format!("assets/tasks/{task}.toml")).unwrap(), 1e6, 0, "127.0.0.1:0", None).unwrap()
}

/// Is the object at the goal of this episode?
fn is_there(state: &Value, episode: u64) -> bool {
    state["task"]["episode"] == episode && state["task"]["there"] == true
}

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

#[test]
fn the_cube_comes_to_its_goal_and_comes_back_when_it_is_pulled_away() {
    let server = serve("allegro_cube");
    let header = header(&server);
    let mut client = Client::connect(&server);
    let layout = &header["layout"];
    let scalars = header["scalars"].as_array().unwrap();
    let cost = count(&layout["scalars"]) + scalars.iter().position(|name| name == "cost").unwrap();
    let plan = count(&layout["plan"]);
    let cube = body(&header, "cube");

    client.send(&json!({ "reset": true }));
    let first = client.until("there is a plan", |frame, _| frame[0] < 0.05 && frame[plan].is_finite());
    // The plan is the horizon's states of the cube and the fingertips, and as soon as they have a hold of it ends
    // nearer to the goal than it starts.
    let n_poses = count(&header["plan"]["n_poses"]);
    let bodies = header["plan"]["bodies"].as_array().unwrap();
    let end = count(&layout["taxels"]);
    assert_eq!((n_poses, bodies.len(), end), (9, 5, plan + 7 * 9 * 5));
    assert!(first[plan..end].iter().all(|x| x.is_finite()));
    let goal = &client.state["task"]["goals"][0];
    assert_eq!(count(&goal["body"]), cube);
    let goal: [f64; 3] = std::array::from_fn(|k| goal["position"][k].as_f64().unwrap());
    let place = 7 * bodies.iter().position(|body| count(body) == cube).unwrap();
    client.until("a plan leads nearer to the goal", |frame, _| {
        let [start, end] = [0, n_poses - 1].map(|k| distance(frame, plan + 7 * bodies.len() * k + place, goal));
        frame[0] < 0.5 && end < 0.9 * start
    });

    let there = client.until("it is there", |_, state| is_there(state, 0));
    assert!(there[cost] < 0.3 * first[cost], "{} after {}", there[cost], first[cost]);
    let at = pose(&header, cube);
    let here: [f64; 3] = std::array::from_fn(|k| f64::from(there[at + k]));
    let away = [here[0] + 0.03, here[1] + 0.015, here[2] + 0.03];
    client.send(&json!({ "pull": { "body": cube, "at": [0, 0, 0], "to": away } }));
    client.until("it is away", |_, state| state["task"]["errors"][0]["position"].as_f64() > Some(0.025));
    client.send(&json!({ "pull": null }));
    // A frame's cost is that of the plan before it.
    let mut most = 0.0_f32;
    client.until("it is back, at less cost", |frame, state| {
        most = most.max(frame[cost]);
        is_there(state, 0) && frame[cost] < 0.3 * most
    });
}

/// Goals of two objects and of a robot's joints: a picture and an error of each, and it is there when all are.
#[test]
fn two_pucks_come_to_their_goals() {
    let server = serve("two_pucks");
    let header = header(&server);
    let mut client = Client::connect(&server);
    client.until("it is there", |_, state| is_there(state, 0));
    let task = &client.state["task"];
    let of = |list: &Value, key: &str| list.as_array().unwrap().iter().map(|one| one[key].clone()).collect::<Vec<_>>();
    assert_eq!(of(&task["errors"], "object"), ["red", "blue", "tips"]);
    let pictured: Vec<usize> = of(&task["goals"], "body").iter().map(count).collect();
    for name in ["red", "blue", "tips/tip2"] {
        assert!(pictured.contains(&body(&header, name)), "{name}: {pictured:?}");
    }
    assert!(!pictured.contains(&body(&header, "tips/tip0")));
    for (object, kind, most) in [(0, "position", 0.005), (1, "position", 0.005), (2, "joints", 0.003)] {
        let error = task["errors"][object][kind].as_f64().unwrap();
        assert!(error < most, "{}", task["errors"]);
    }
}

/// A goal of a joint: its link's goal pose, a turn about z, and the joint's error among the scalars and in the state.
#[test]
fn a_valve_is_turned_to_its_goal() {
    let server = serve("valve");
    let header = header(&server);
    let scalars: Vec<&str> = header["scalars"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(scalars.contains(&"joint error") && !scalars.contains(&"position error"), "{scalars:?}");
    let mut client = Client::connect(&server);
    client.until("it is there", |_, state| is_there(state, 0));
    let goals = client.state["task"]["goals"].as_array().unwrap().clone();
    assert_eq!((goals.len(), count(&goals[0]["body"])), (1, body(&header, "valve/wheel")));
    let stem = Task::load("assets/tasks/valve.toml").unwrap().episode(0, 0).unwrap().goal.joints["stem"];
    for (k, expected) in [(stem / 2.0).cos(), 0.0, 0.0, (stem / 2.0).sin()].into_iter().enumerate() {
        let x = goals[0]["quaternion"][k].as_f64().unwrap();
        assert!((x - expected).abs() < 1e-9, "{goals:?}, expected {stem}");
    }
    assert!(client.state["task"]["errors"][0]["joints"].as_f64().unwrap() < 0.02);
}

#[test]
fn other_goals_are_had_on_request() {
    let server = serve("planar_push");
    let header = header(&server);
    let mut client = Client::connect(&server);
    client.until("it is there", |_, state| is_there(state, 0));
    let begin = client.frame()[0];
    client.send(&json!({ "goal": 1 }));
    client.until("it is at the next goal", |_, state| is_there(state, 1));
    // From where everything was; an episode starts anew.
    assert!(client.frame()[0] > begin);
    client.send(&json!({ "episode": 2 }));
    let anew = client.until("it starts anew", |frame, state| state["task"]["episode"] == 2 && frame[0] < begin);
    assert!(anew[0] < 1.0, "{}", anew[0]);
    // Whoever takes a joint's slider has the joints, until the next goal.
    let joint = header["scene"]["u_names"][0].as_str().unwrap();
    client.send(&json!({ "set": { (format!("u:{joint}")): 0.0 } }));
    client.until("nobody plans", |frame, state| {
        state["driven"] == false && frame[count(&header["layout"]["plan"])].is_nan()
    });
    client.send(&json!({ "goal": 2 }));
    client.until("somebody plans", |frame, state| {
        state["driven"] == true && frame[count(&header["layout"]["plan"])].is_finite()
    });
    // Paused, it goes on by single steps.
    client.send(&json!({ "pause": true }));
    client.until_state("it stands still", |state| state["paused"] == true);
    let time = newest(&server)[0];
    for _ in 0..7 {
        client.send(&json!({ "step": true }));
    }
    let h = header["scene"]["params"]["h"].as_f64().unwrap();
    client.until("it has gone seven steps", |frame, _| (f64::from(frame[0] - time) - 7.0 * h).abs() < 0.1 * h);
}

#[test]
fn the_page_shows_ghosts_and_the_cost() {
    let Some(browser) = Browser::start(1280, 720) else { return };
    let server = serve("allegro_cube");
    browser.open(&server.url());
    // One step: at the start of an episode the goal and the plan are away from the cube.
    browser.run("fingertip.live.send({ pause: true }); fingertip.live.send({ reset: true, step: true })");
    let last = "fingertip.track.length - 1";
    browser.wait(&format!(
        "Math.abs(fingertip.track.time({last}) - 0.02) < 1e-6 && fingertip.track.plan({last}).length === 5"
    ));
    let ghosts = browser.run(&format!("return fingertip.view.ghosts.at({last}).length")).as_u64().unwrap();
    assert!((2..=4).contains(&ghosts), "the goal and states of the plan: {ghosts}");
    let titles = browser.run("return fingertip.plots.map((plot) => plot.title)");
    assert_eq!(titles, json!(["Cost of the plan", "To the goal", "Contact force"]));
    browser.run(&format!(
        "window.first = fingertip.plots[0].series[0].at({last}); fingertip.live.send({{ pause: false }})"
    ));
    browser.wait("document.getElementById('task').classList.contains('there')");
    // The cost falls; a frame whose plan was late has none.
    browser.wait(&format!("first > 2 * fingertip.plots[0].series[0].at({last})"));
    let panel = browser.run("return document.getElementById('task').innerText");
    assert!(panel.as_str().unwrap().contains("goal 1 of 40"), "{panel}");
    browser.run("[...document.querySelectorAll('#task button')].find((b) => b.textContent === 'Next goal').click()");
    browser.wait("document.getElementById('task').innerText.includes('goal 2 of 40')");
    browser.key("e");
    browser.wait("document.getElementById('task').innerText.includes('goal 3 of 40')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The README's picture, where it is asked for: the cube has been pulled away, the plan brings it back.
#[test]
fn screenshot() {
    let Some(folder) = browser::album() else { return };
    let Some(browser) = Browser::start(1040, 680) else { return };
    let server = serve("allegro_cube");
    let cube = body(&header(&server), "cube");
    browser.open(&server.url());
    browser.run(
        "if (fingertip.theme.colours.name === 'dark') fingertip.theme.toggle(); fingertip.look('home');
         fingertip.camera.now = { ...fingertip.camera.goal }",
    );
    browser.wait("document.getElementById('task').classList.contains('there')");
    browser.run(&format!(
        "const live = fingertip.live; const {{ p }} = fingertip.track.pose(fingertip.track.length - 1, {cube});
         live.grab({{ part: {{ body: {cube} }}, point: p }}, fingertip.camera);
         live.held.to = [p[0] + 0.03, p[1] + 0.015, p[2] + 0.03]; live.push()"
    ));
    let error = "fingertip.series.find((s) => s.name === 'position error').at(fingertip.track.length - 1)";
    browser.wait(&format!("{error} > 25"));
    browser.run("fingertip.live.release(); fingertip.selected = 0");
    browser.wait(&format!("{error} < 25"));
    browser.run("fingertip.live.send({ pause: true })");
    browser.wait("fingertip.live.paused");
    browser.photograph(&folder, "task.png");
}
