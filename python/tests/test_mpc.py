"""Tasks, controllers, plants, costs and runs."""

import concurrent.futures
import json
import multiprocessing
import pickle
import subprocess
import threading
import warnings

import numpy as np
import pytest
from conftest import COMMAND, ROOT

import fingertip as ft
from fingertip import mpc

# What is measured without noise is q ⊕ 0, which is q but for the last bits of quaternions.
ROUNDING = 1e-15
TASKS = ROOT / "assets" / "tasks"


@pytest.fixture(scope="module")
def turn():
    """A hand turns a ball in its fingers: four fifths of a second are enough for success. Plans start at what is measured."""
    return ft.Task.load("hand_turn").replace(cap=20, estimate=[])


@pytest.fixture(scope="module")
def ran(turn):
    return mpc.run(turn)


def test_a_run(turn, ran):
    n, k = len(ran.u), turn.hold
    model = turn.model
    assert ran.success is not None and ran.success <= 20 and n == 20 and ran.unsolved == 0
    assert ran.q.shape == (n + 1, model.nq) and ran.u.shape == (n, model.nu) and ran.path.shape == (n * k + 1, model.nq)
    assert ran.force.shape == (n * k, model.nc, 3) and ran.plan.shape == (n, 11, model.nq)
    assert np.array_equal(ran.q, ran.path[::k]) and np.allclose(np.diff(ran.time), turn.period)
    assert np.array_equal(ran.q[0], ran.episode.q) and np.allclose(ran.plan[:, 0], ran.q[:-1], atol=ROUNDING)
    assert set(ran.errors) == {"position", "rotation", "quaternion"}
    # The errors by hand: the ball is the model's first object.
    at = model.object(turn.object).q
    away = np.linalg.norm(ran.q[:, at][:, :3] - ran.episode.goal.position, axis=1)
    assert np.allclose(ran.errors["position"], away, atol=1e-12)
    cosine = np.abs(ran.q[:, at][:, 3:] @ np.array(ran.episode.goal.quaternion))
    assert np.allclose(ran.errors["quaternion"], 1 - cosine**2, atol=1e-9)
    # It plans: the ball is turned by more than half a radian and brought to its place.
    assert ran.errors["rotation"][0] > 0.5 > 20 * ran.errors["rotation"][-1]
    assert "success at" in repr(ran)


@pytest.mark.parametrize(
    ("options", "plant"),
    [
        ([], {}),
        (["--plant", "second-order", "--latency", "50", "--noise", "1,1"], {"kind": "second-order", "latency": 0.05, "noise": (1e-3, np.pi / 180)}),
        (["--with", '{"mu": {"tips/cube": 0.3}}', "--plant-kappa", "1e5"], {"overrides": {"mu": {"tips/cube": 0.3}}, "kappa": 1e5}),
    ],
)
def test_runs_are_those_of_the_command_line(options, plant):
    """Without a limit on time, an episode is the same to the last bit."""
    task = ft.Task.load("tips_air").replace(cap=25, seed=3)
    run = mpc.run(task, mpc.Plant(task, **plant), episode=1, seed=3)
    asked = ["mpc", "tips_air", "--first", "1", "--episodes", "1", "--cap", "25", "--seed", "3", "--json", *options]
    said = json.loads(subprocess.run([*COMMAND, *asked], capture_output=True, text=True).stdout)
    assert said["steps"] == len(run.u) and said["success"] == run.success and said["unsolved"] == run.unsolved
    assert said["errors"].pop("lost") == said["lost"] == run.lost
    for name, last in said["errors"].items():
        assert last == (run.errors[name][-1] if name in run.errors else None)
    assert said["iterations"] == pytest.approx(run.iterations.mean())
    assert sum(said["outcomes"].values()) == len(run.outcome)


@pytest.mark.parametrize("supervised", [True, False])
def test_supervised_runs_are_those_of_the_command_line(supervised):
    """To the last bit, in a task whose goal is too far to be planned for at once."""
    task = ft.Task.load("hand_turn").replace(cap=12)
    run = mpc.run(task, episode=1, supervised=supervised)
    asked = ["mpc", "hand_turn", "--first", "1", "--episodes", "1", "--cap", "12", "--json", *([] if supervised else ["--plain"])]
    said = json.loads(subprocess.run([*COMMAND, *asked], capture_output=True, text=True).stdout)
    assert said["errors"].pop("lost") == said["lost"] == run.lost
    for name, last in said["errors"].items():
        assert last == (run.errors[name][-1] if name in run.errors else None)
    # It begins a thing where what it does changes, or the same again.
    does = said["supervisor"]["does"]
    assert set(run.doing) <= {*does, "goal"} and (set(run.doing) == {"goal"} or supervised) and bool(does) == supervised
    assert ("subgoal" in run.doing) == supervised and run.stall == (None,) * 12


def test_own_costs_stay_when_the_supervisor_changes_what_is_planned_for():
    task = ft.Task.load("hand_turn").replace(cap=3)
    at = task.model.object(task.object)
    terms, first, plain = [], ft.Controller(task, 1), ft.Controller(task, 1, supervised=False)

    def rate(q):
        rows = np.zeros((1, task.model.nv))
        rows[0, at.v.start] = 1.0
        return rows

    own = ft.Controller(task, 1, costs=[mpc.Cost(lambda q: q[at.q][:1] - 0.02, rate, 1e6)])
    q = task.episode(1).q
    terms.append(own.standing(q))
    answer = own.command(q)
    terms.append(own.standing(q))
    assert answer.doing == "subgoal" and [of[-1][:2] for of in terms] == [("cost", terms[0][-1][1])] * 2 and terms[0][-1][1] > 0
    assert not np.array_equal(answer.u, first.command(q).u) and plain.command(q).doing == "goal"
    own.set_goal(task.episode(2).goal)
    assert own.standing(q)[-1] == terms[0][-1]
    own.set_parameters({"mass": {task.object: 0.5}})
    assert own.standing(q)[-1] == terms[0][-1]
    own.reset(1)
    assert own.command(q).doing == "subgoal" and own.standing(q)[-1] == terms[0][-1]


def test_any_plant(turn, ran):
    """The library's own step as a callable of q and u is the default plant, but for where solves start."""
    sim = ft.Quasidynamic(turn.model, kappa=1e6)
    begun = []

    class Own:
        warm = None

        def reset(self, episode):
            begun.append(episode.number)

        def __call__(self, q, u):
            held = sim.hold(q, u, turn.hold, self.warm)
            self.warm = held.warm[-1]
            return held.q

    run = mpc.run(turn, Own())
    assert begun == [0] and run.force is None and run.unsolved is None
    assert np.allclose(run.path, ran.path, atol=1e-6) and np.allclose(run.u, ran.u, atol=1e-6)
    # What ends a period alone is enough; a velocity may come with it.
    short = turn.replace(cap=2, lead=0.01)
    run = mpc.run(short, lambda q, u: (sim.hold(q, u, turn.hold).q[-1], np.zeros(turn.model.nv)))
    assert np.array_equal(run.q, run.path) and run.path.shape == (3, turn.model.nq)
    with pytest.raises(ft.Error, match=r"plant: expected states of shape \(28,\) or \(k, 28\), got \(21,\)"):
        mpc.run(short, lambda q, u: u)
    with pytest.raises(ft.Error, match="plant: expected finite numbers"):
        mpc.run(short, lambda q, u: q * np.nan)
    with pytest.raises(ZeroDivisionError):
        mpc.run(short, lambda q, u: 1 / 0)


def test_each_ends_a_run(turn):
    answers = []

    def each(answer, q):
        answers.append(answer)
        return len(answers) == 3

    assert len(mpc.run(turn, each=each).u) == 3 and answers[0].step == 0 and answers[2].step == 2


def test_a_controller(turn, ran):
    """A loop of one's own: the same commands as the run's."""
    controller = ft.Controller(turn)
    episode = controller.episode
    assert controller.horizon == 10 and np.array_equal(controller.u_before, episode.u)
    for q, u in zip(ran.q[:3], ran.u):
        answer = controller.command(q)
        assert np.allclose(answer.u, u, atol=1e-9) and np.array_equal(controller.u_before, answer.u)
        assert np.array_equal(answer.q_from, q) and np.array_equal(answer.plan.q[0], q)
        assert answer.plan.u.shape == (10, turn.model.nu) and answer.plan.force.shape == (10, turn.model.nc, 3)
        assert answer.plan.log.shape[1] == 4 and answer.plan.log[-1, 0] >= answer.plan.cost
        assert not answer.success and not answer.done and 0 < answer.seconds < 10
    assert answer.errors.position == ran.errors["position"][2]
    # Nothing measured, too little time, and numbers that cannot be: the rest of the plan is followed.
    rest = answer.plan.u[1]
    silent = controller.command(None)
    assert silent.outcome == "silent" and silent.plan is None and np.array_equal(silent.u, rest)
    assert controller.command(ran.q[3], 0.0).outcome == "deadline"
    assert controller.command(np.where(np.arange(28) == 3, np.nan, ran.q[3])).outcome == "bad input"
    # It goes on, and begins again.
    assert controller.command(ran.q[3]).outcome in ("converged", "iteration limit")
    controller.reset()
    assert np.allclose(controller.command(ran.q[0]).u, ran.u[0], atol=1e-9)
    assert sum(purpose for _, _, purpose in controller.standing(ran.q[0])) == 2


def test_success_and_its_end(turn, ran):
    """At its goal an episode succeeds, as soon as the errors have been small for long enough."""
    controller = ft.Controller(turn)
    at_goal = next(k for k in range(20) if turn.is_small(turn.errors(ran.episode.goal, ran.q[k])))
    progress = mpc.Progress(turn)
    while not progress.is_over:
        answer = controller.command(ran.q[at_goal])
        progress.count(answer.errors)
        assert answer.success == (progress.success is not None) and answer.done == progress.is_over
    assert progress.success is not None and progress.held >= 1


def test_goals(turn, ran):
    goal = ran.episode.goal
    other = mpc.Goal(position=np.array(goal.position) + [0.0, 0.0, 0.01], quaternion=2.0 * np.array(goal.quaternion))
    assert np.allclose(np.linalg.norm(other.quaternion), 1) and other != goal and other == mpc.Goal(*other.__getnewargs__())
    controller = ft.Controller(turn, goal=other, q=ran.q[-1])
    assert controller.episode.goal == other and np.array_equal(controller.episode.q, ran.q[-1])
    raised = controller.command(ran.q[-1])
    assert raised.errors.position > 0.005
    controller.set_goal(goal)
    assert controller.episode.goal == goal
    again = controller.command(ran.q[-1])
    assert again.errors.position == ran.errors["position"][-1] and again.step == 0
    assert not np.array_equal(again.u, raised.u)
    # A run of an episode made by hand.
    episode = mpc.Episode(7, ran.q[-1], ran.u[-1], other)
    run = mpc.run(turn.replace(cap=1), episode=episode)
    assert run.episode.number == 7 and run.errors["position"][0] == raised.errors.position
    valve = ft.Task.load("valve")
    joints = valve.episode().goal.joints
    assert len(joints) == 1 and valve.episode().goal.position is None
    assert valve.errors(valve.episode().goal, valve.model.home()).joints > 0


def test_a_controller_pickles_and_goes_on(ran):
    """In the middle of an episode, with another goal, a cost and what was found out of the plant: the next commands are the same."""
    task = ran.task
    goal = mpc.Goal(position=ran.episode.goal.position, quaternion=ran.episode.goal.quaternion)
    cost = mpc.Cost(numpy_residual, numpy_jacobian, running=0.01)
    controller = ft.Controller(task, 1, costs=[cost])
    controller.command(ran.q[0])
    controller.set_parameters({"mass": {task.object: 0.2}})
    controller.set_goal(goal)
    controller.command(ran.q[1])
    again = pickle.loads(pickle.dumps(controller))
    for q in ran.q[2:4]:
        one, other = controller.command(q), again.command(q)
        assert np.array_equal(one.u, other.u) and one.plan.cost == other.plan.cost
        assert (one.step, one.done, one.errors.position) == (other.step, other.done, other.errors.position)
    assert again.episode.number == 1 and again.episode.goal == goal and again.task.title == task.title
    # What it was told counts: a new controller's command is another.
    fresh = ft.Controller(task, 1, goal=goal)
    assert not np.array_equal(fresh.command(ran.q[3]).u, other.u)


def numpy_residual(q):
    return q[:1]


def numpy_jacobian(q):
    return np.eye(1, len(q))


def test_goals_of_several_objects():
    task = ft.Task.load("two_pucks")
    others = task.episode().goal.others
    assert sorted(others) == ["blue", "tips"] and others["tips"].joints == {"x2": 0.1, "z2": 0.05}
    goal = mpc.Goal(position=[0.05, 0.07, 0.0], others={"blue": mpc.Goal(position=[0.0, -0.05, 0.0])})
    assert goal == mpc.Goal(*goal.__getnewargs__()) and goal == pickle.loads(pickle.dumps(goal))
    # The red puck starts at (0, 0.08) and is the farther one.
    assert np.isclose(task.errors(goal, task.episode().q).position, np.hypot(0.05, 0.01))
    with pytest.raises(ft.Error, match="others: blue: expected a goal without others"):
        mpc.Goal(position=[0.0, 0.0, 0.0], others={"blue": goal})


def test_beliefs(turn, ran):
    """What is believed of the plant changes commands."""
    controller = ft.Controller(turn)
    controller.set_parameters({"mass": {turn.object: 0.5}})
    heavy = controller.command(ran.q[9])
    believed = turn.replace(overrides={"mass": {turn.object: 0.5}})
    other = ft.Controller(believed)
    assert np.array_equal(other.command(ran.q[9]).u, heavy.u)
    assert not np.array_equal(ft.Controller(turn).command(ran.q[9]).u, heavy.u)
    column = turn.model.inertial_names.index(turn.object)
    assert believed.model.params["mass"][0, column] == 0.5 != turn.model.params["mass"][0, column]
    assert controller.friction is None


def test_settings(turn):
    task = turn.replace(method="mppi", iterations=1, latency=0.05, seed=5)
    assert (task.method, task.iterations, task.latency, task.cap) == ("mppi", 1, 0.05, 20)
    assert turn.method == "ilqr" and turn.latency == 0.0
    first, again, other = (ft.Controller(of).command(turn.episode().q).u for of in (task, task, task.replace(seed=6)))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert "hand_turn" in ft.Task.names() and ft.Task.load("allegro_cube").n_goals is not None
    assert ft.Task.load(TASKS / "hand_turn.toml").episode(2, 1).goal == ft.Task.load("hand_turn").episode(2, 1).goal


def test_own_costs(turn, ran):
    """A cost that is the task's own, computed in Python, does what the task's own does."""
    push = ft.Task.load("planar_push")
    text = (TASKS / "planar_push.toml").read_text()
    weights = (1000.0, 1000.0)
    assert text.count("position = 1000.0\n") == 2
    text = text.replace("position = 1000.0\n", "")
    at, goal = push.model.object(push.object), push.episode().goal

    def residual(q):
        return q[at.q][:2] - goal.position[:2]

    def jacobian(q):
        rows = np.zeros((2, push.model.nv))
        rows[:, at.v.start : at.v.start + 2] = np.eye(2)
        return rows

    own = mpc.Cost(residual, jacobian, *weights, purpose=True)
    without = ft.Task.from_toml(text, TASKS).replace(cap=10)
    theirs = mpc.run(push.replace(cap=10))
    ours = mpc.run(without, costs=[own])
    assert np.allclose(ours.cost, theirs.cost, rtol=1e-6) and np.allclose(ours.u, theirs.u, atol=1e-6)
    assert not np.allclose(mpc.run(without).u, theirs.u, atol=1e-3)


def test_costs_by_the_numbers_of_q(turn, ran):
    """A Jacobian by q's own numbers is that in tangent coordinates, by which the gradient is: against differences of the cost."""
    at = turn.model.object(turn.object)
    wanted = np.array([1.0, 0.0, 0.0, 0.0])

    def residual(q):
        return q[at.q][3:] - wanted

    def by_q(q):
        rows = np.zeros((4, turn.model.nq))
        rows[:, at.q][:, 3:] = 0
        rows[np.arange(4), at.q.start + 3 + np.arange(4)] = 1.0
        return rows

    def by_tangent(q):
        # q₊ = Exp(ω) ⊗ q, so ∂q/∂ω is half of the product by (0, eᵢ) from the left.
        w, x, y, z = q[at.q][3:]
        rows = np.zeros((4, turn.model.nv))
        rows[:, at.v.start + 3 : at.v.start + 6] = 0.5 * np.array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]])
        return rows

    short = turn.replace(cap=3)
    q = ran.q[8]
    first, second = (mpc.run(short, q=q, costs=[mpc.Cost(residual, of, 0.5)]) for of in (by_q, by_tangent))
    assert np.allclose(first.u, second.u, atol=1e-9) and not np.allclose(first.u, mpc.run(short, q=q).u, atol=1e-5)


def test_costs_that_cannot_be_used(turn, ran):
    zero, rows = (lambda q: np.zeros(1)), (lambda q: np.zeros((1, 27)))
    for cost, says in [
        (mpc.Cost(lambda q: 1.0, rows), "residual: expected shape (m,), got ()"),
        (mpc.Cost(lambda q: np.array([np.inf]), rows), "residual: expected finite numbers, got inf"),
        (mpc.Cost(zero, lambda q: np.zeros((2, 27))), "jacobian: expected shape (1, 27) or (1, 28), got (2, 27)"),
        (mpc.Cost(zero, lambda q: np.full((1, 27), np.nan)), "jacobian: expected finite numbers, got NaN"),
        (mpc.Cost(lambda q: "far", rows), "residual: expected real numbers"),
    ]:
        with pytest.raises(ft.Error) as caught:
            ft.Controller(turn, costs=[cost])
        assert says in str(caught.value)

    class Far(Exception):
        pass

    def residual(q):
        if calls:
            raise Far("too far")
        return np.zeros(1)

    # What it raises while a command is planned is raised where the command was asked for, and nothing has changed.
    calls = []
    controller = ft.Controller(turn, costs=[mpc.Cost(residual, rows)])
    calls.append(1)
    with pytest.raises(Far, match="too far"):
        controller.command(ran.q[0])
    calls.clear()
    assert np.allclose(controller.command(ran.q[0]).u, ran.u[0], atol=1e-9)


def test_a_controller_answers_one_call_at_a_time(turn, ran):
    made, said = [], []

    def residual(q):
        for controller in made:
            try:
                controller.command(q)
            except ft.Error as error:
                said.append(str(error))
        return np.zeros(1)

    cost = mpc.Cost(residual, lambda q: np.zeros((1, 27)))
    made.append(ft.Controller(turn.replace(iterations=1), costs=[cost]))
    made[0].command(ran.q[0])
    assert set(said) == {"controller: expected one call at a time"}


def test_python_goes_on_while_it_plans(turn, ran):
    controller = ft.Controller(turn.replace(iterations=60, tolerance=1e-15))
    done, count = threading.Event(), 0

    def work():
        for q in ran.q[5:15]:
            controller.command(q)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(1e-3):
        count += 1
    thread.join()
    assert count > 5


def test_episodes_in_other_processes(turn, ran):
    """Episodes of a pool have the bits of those here."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
        runs = [pool.submit(mpc.run, turn, mpc.Plant(turn), episode=k) for k in range(2)]
        runs = [run.result(timeout=100) for run in runs]
    assert np.array_equal(runs[0].path, ran.path) and np.array_equal(runs[0].plan, ran.plan)
    assert runs[1].episode.number == 1


def test_pickles(turn, ran, tmp_path):
    task = turn.replace(method="cem", cap=4, overrides={"mass": {turn.object: 0.2}})
    again = pickle.loads(pickle.dumps(task))
    assert (again.method, again.cap, again.title) == ("cem", 4, task.title)
    assert np.array_equal(again.model.params["mass"], task.model.params["mass"])
    text = (TASKS / "tips_air.toml").read_text()
    of_text = ft.Task.from_toml(text, TASKS)
    assert pickle.loads(pickle.dumps(of_text)).episode(1).goal == of_text.episode(1).goal
    model = pickle.loads(pickle.dumps(task.model))
    assert {name: x.tolist() for name, x in model.params.items()} == {name: x.tolist() for name, x in task.model.params.items()}
    run = pickle.loads(pickle.dumps(ran))
    assert np.array_equal(run.path, ran.path) and run.episode.goal == ran.episode.goal and run.success == ran.success
    assert run.outcome == ran.outcome and run.task.cap == 20
    answer = ft.Controller(turn).command(ran.q[0])
    other = pickle.loads(pickle.dumps(answer))
    assert np.array_equal(other.plan.q, answer.plan.q) and other.errors.position == answer.errors.position
    assert repr(other.errors) == repr(answer.errors) and repr(other.errors).startswith("Errors(position=")
    plant = pickle.loads(pickle.dumps(mpc.Plant(turn, "second-order", kappa=1e5, noise=(1e-3, 0.0))))
    plant.reset(turn.episode())
    path, force = plant.advance(turn.episode().u)
    assert path.shape == (5, 28) and force.shape == (5, 10, 3) and plant.measure()[1].shape == (27,)


pytestmark = pytest.mark.filterwarnings("ignore:\"ground\" and \"arm/lower\" overlap")


def lifted(**keys):
    """A task that is written in Python: a ball in a slot is lifted by a tip."""
    scene = (
        ft.Scene(kappa=1e4)
        .object("ball", sphere=0.03, mass=0.1, freedom="translation", position=[0.0, 0.0, 0.1])
        .object("tip", sphere=0.02, mass=0.1, freedom="free", position=np.array([0.0, 0.0, 0.5]))
        .object("ground", halfspace=[0, 0, 1, 0])
        .robot("arm", urdf="../robots/planar_arm.urdf", home={"shoulder": 0.4})
    )
    given = {
        "title": "A ball",
        "command": {"type": "relative", "bound": 0.1},
        "goal": {"object": "ball", "position": np.array([0.0, 0.0, 0.2])},
        "weights": {"position": 10.0, "terminal": {"position": 100.0}},
        "success": {"position": 0.01},
        "cap": 3,
    }
    return ft.Task(scene, **{**given, **keys})


def test_a_task_written_in_python(tmp_path):
    """It is the task of the same text, whose scene is a file, and of a shipped scene by its name."""
    with pytest.warns(UserWarning, match='"ground" and "arm/lower" overlap by'):
        task = lifted()
    assert task.object == "ball" and task.cap == 3 and task.model.q_names[:3] == ["ball.x", "ball.y", "ball.z"]
    assert task.model.params["kappa"] == 1e4 and task.episode().goal.position == (0.0, 0.0, 0.2)
    again = pickle.loads(pickle.dumps(task))
    assert again.title == "A ball" and again.model.text == task.model.text
    assert ft.Model.from_toml(task.model.text, task.model.folder).q_names == task.model.q_names
    run = mpc.run(task)
    assert len(run.u) == 3
    (tmp_path / "scene.toml").write_text(task.model.text.replace("../robots", str(ROOT / "assets" / "robots")))
    keys = {"goal": {"object": "ball", "position": [0.0, 0.0, 0.2]}, "command": {"type": "relative", "bound": 0.1}}
    keys |= {"weights": {"position": 10.0, "terminal": {"position": 100.0}}, "success": {"position": 0.01}, "cap": 3}
    for of_file in (ft.Task(tmp_path / "scene.toml", **keys), ft.Task("scene.toml", tmp_path, **keys)):
        assert np.array_equal(mpc.run(of_file).u, run.u)
    of_model = ft.Task(ft.Model.load(tmp_path / "scene.toml"), **keys)
    assert np.array_equal(mpc.run(of_model).u, run.u)
    shipped = ft.Task(ft.Model.load("hand_ball"), **{**keys, "cap": 1})
    assert shipped.model.folder is None and shipped.model.nu == 21
    shipped = ft.Task("hand_ball", **{**keys, "cap": 1})
    assert shipped.model.folder is None and shipped.model.nu == 21 and len(mpc.run(shipped).u) == 1
    assert pickle.loads(pickle.dumps(shipped)).model.nu == 21


def test_a_task_with_its_scene_on_the_command_line(tmp_path):
    """A text with both is a task, and a scene where a command wants one."""
    path = tmp_path / "task.toml"
    text = lifted().__reduce__()[1][1][0]
    path.write_text(text.replace("../robots", str(ROOT / "assets" / "robots")))
    said = [subprocess.run([*COMMAND, *asked], capture_output=True, text=True) for asked in (["mpc", path, "--json"], ["inspect", path, "--json"])]
    assert json.loads(said[0].stdout.splitlines()[0])["steps"] == 3
    assert "ball" in said[1].stdout and said[1].stderr.startswith(f"note: {path} is a task; this is its scene\n")
    path.write_text(path.read_text().replace("sphere", "spere"))
    bad = subprocess.run([*COMMAND, "inspect", path], capture_output=True, text=True).stderr
    assert f'{path}: scene: object "ball": unknown field `spere`' in bad, bad


def test_every_key_can_be_replaced(tmp_path):
    task = lifted()
    other = task.replace(horizon=3, weights={"reach": 0.5, "position": 20.0}, goal={"position": [0.0, 0.0, 0.3]}, title="B", cap=2)
    assert other.title == "B" and other.cap == 2 and other.episode().goal.position == (0.0, 0.0, 0.3)
    controllers = ft.Controller(task), ft.Controller(other)
    assert [of.horizon for of in controllers] == [10, 3]
    at = [dict((name, cost) for name, cost, _ in of.standing(task.episode().q)) for of in controllers]
    assert "reach" not in at[0] and at[1]["reach"] > 0 and at[1]["position"] > at[0]["position"]
    # A goal takes the place of all of the one before, and the object stays.
    turned = lifted(goal={"object": "ball", "position": [0.0, 0.0, 0.1]}).replace(goal=mpc.Goal([0.0, 0.1, 0.2]))
    assert turned.episode().goal == mpc.Goal([0.0, 0.1, 0.2]) and turned.object == "ball"
    drawn = ft.Task.load("tips_air").replace(goal=mpc.Goal(quaternion=[1, 0, 0, 0]))
    assert drawn.episode().goal == mpc.Goal(quaternion=[1, 0, 0, 0])
    upright = drawn.replace(goal=mpc.Goal(axis=[0, 0, 1])).episode()
    assert upright.goal == mpc.Goal(quaternion=[1, 0, 0, 0], axis=[0, 0, 1]) == pickle.loads(pickle.dumps(upright.goal))
    heavier = ft.Scene(kappa=1e4).object("ball", sphere=0.03, mass=0.4, freedom="translation", position=[0, 0, 0.1])
    heavier.robot("arm", urdf="../robots/planar_arm.urdf")
    assert task.replace(scene=heavier).model.params["mass"] == 0.4
    # One after another, and from a pickle; None leaves a key out.
    third = pickle.loads(pickle.dumps(other.replace(weights={"reach": None}, iterations=2)))
    assert third.iterations == 2 and third.cap == 2 and third.title == "B"
    assert "reach" not in [name for name, *_ in ft.Controller(third).standing(task.episode().q)]
    # What ships stays where its files are.
    turn = ft.Task.load("hand_turn").replace(horizon=4)
    assert turn.model.folder is None and ft.Controller(turn).horizon == 4
    path = tmp_path / "task.toml"
    path.write_text((TASKS / "planar_push.toml").read_text().replace("../scenes", str(TASKS.parent / "scenes")))
    assert ft.Controller(ft.Task.load(path).replace(horizon=4)).horizon == 4


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (lambda: lifted(weigths={}), "^unknown field `weigths`; did you mean `weights`"),
        (lambda: lifted(goal={"object": "bal", "position": [0, 0, 0]}), '^goal: object: there is no movable object "bal"; did you mean "ball"'),
        (lambda: ft.Task(ft.Scene()), "^missing field `command`"),
        (lambda: ft.Task(ft.Scene().object("a", spere=0.1), command={"type": "relative", "bound": 0.1}, goal={"object": "a", "position": [0, 0, 0]}, weights={}), '^scene: object "a": unknown field `spere`; did you mean `sphere`'),
        (lambda: ft.Task("hand_bal"), 'there is no scene "hand_bal"; did you mean "hand_ball"'),
        (lambda: ft.Task(3), "^scene: expected a Scene, a Model, a scene's file or its name, got int"),
        (lambda: ft.Task(ft.Model.load("hand_ball", {"mass": {"ball": 0.1}})), "^scene: expected a model without overrides"),
        (lambda: ft.Task(lifted().model), "^scene: expected a model without overrides, and not another task's"),
        (lambda: lifted().replace(horizn=3), "^unknown field `horizn`; did you mean `horizon`"),
        (lambda: lifted().replace(weights={"rech": 3}), "^unknown field `rech`; did you mean `reach`"),
        (lambda: lifted().replace(horizon=0), "^horizon: expected at least 1, got 0"),
        (lambda: lifted().replace(title={"a": 1}), 'title'),
        (lambda: lifted(command={"type": "relative", "bound": "x"}), "^command: expected a number, or numbers by joint"),
        (lambda: lifted().replace(command={"bound": "x"}), "^bound: expected a number, or numbers by joint"),
        (lambda: ft.Controller(lifted(), -1), "^episode: expected a number from 0 up, got -1"),
    ],
)
def test_keys_that_cannot_be(work, says):
    with pytest.raises(ft.Error, match=says):
        work()


def test_a_run_of_a_name():
    run = mpc.run("hand_turn", each=lambda *_: True)
    assert len(run.u) == 1 and run.task.title == ft.Task.load("hand_turn").title
    with pytest.raises(ft.Error, match='there is no task "hand_tern"; did you mean "hand_turn"'):
        mpc.run("hand_tern")
    with pytest.raises(ft.Error, match="plant: expected a Plant, or what is called with a state and a command, got 'mujoco'"):
        mpc.run("hand_turn", "mujoco")


def test_progress(turn, capsys, monkeypatch):
    """A line a second where it is asked for; a terminal has the last one alone, and none when the run is over."""
    clock = iter(np.arange(100.0) * 0.6)
    monkeypatch.setattr(mpc.time, "monotonic", lambda: next(clock))
    short = turn.replace(cap=5)
    mpc.run(short)
    assert capsys.readouterr().err == ""
    run = mpc.run(short, progress=True)
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == f"planning 5 commands at most, of 21 joints with {turn.model.nc} contacts"
    assert [line.split(":")[0] for line in lines] == ["period 2 of 5, 0.6 s each, 2 s left at most", "period 4 of 5, 0.6 s each, 1 s left at most"]
    at, turned = run.errors["position"][4], run.errors["rotation"][4]
    assert lines[1].endswith(f": position {at:.3g} m, rotation {turned:.3g} rad")
    monkeypatch.setattr(mpc, "_is_terminal", lambda: True)
    mpc.run(short)
    told = capsys.readouterr().err
    assert told.count("\r\x1b[K") == 4 and told.endswith("\r\x1b[K") and "\n" not in told
    mpc.run(short, progress=False)
    assert capsys.readouterr().err == ""


def test_overlaps_are_told_and_lost_objects_end_episodes():
    """The tips that the task writes 1.5 mm inside the pen are told; a pen that falls is lost before the cap."""
    pen = ft.Task.load("pen")
    inside = pen.replace(start={"apart": None}, lost=0.1)
    with pytest.warns(UserWarning, match='at the start of episode 2 "tips/tip0" and "pen" overlap by 1.500 mm'):
        ft.Controller(inside, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ft.Controller(pen, 2)

    def falls(q, u):
        q[2] -= 0.3
        return q

    run = mpc.run(pen, falls)
    # Twice 1.712 m and half the pen's length.
    assert run.lost and run.success is None and len(run.u) == 13 and "lost" in repr(run)
    assert not run.task.errors(run.episode.goal, run.q[-2]).lost and run.task.errors(run.episode.goal, run.q[-1]).lost
