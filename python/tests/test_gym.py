import pickle

import numpy as np
import pytest
from conftest import SCENES
from test_show import frames

import fingertip as ft

gymnasium = pytest.importorskip("gymnasium", "1.1")
from gymnasium.vector import AutoresetMode

SCENE = SCENES / "allegro_cube.toml"
SHORT = {"seconds": 0.1}
"""Episodes of three steps."""


@pytest.fixture(scope="module")
def env():
    return ft.gym.CubeReorient(SCENE, 4)


def short(worlds=3, mode="NextStep", **kwargs):
    return ft.gym.CubeReorient(SCENE, worlds, autoreset_mode=mode, settings=ft.gym.Settings(**SHORT), **kwargs)


def actions(env, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, env.action_space.shape).astype(np.float32)


def about(axis, angle):
    axis = np.array(axis) / np.linalg.norm(axis)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def test_scales():
    lower, upper = np.array([-1.0, 0.0]), np.array([3.0, 0.5])
    at = np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 0.5]])
    assert np.array_equal(ft.gym.scaled(at, lower, upper), [[-1, 0], [1, 0.25], [3, 0.375]])
    assert np.allclose(ft.gym.unscaled(ft.gym.scaled(at, lower, upper), lower, upper), at, atol=1e-15)


def test_rotations():
    a, b = about([1, 2, 3], 0.7), about([1, 2, 3], -0.4)
    error = ft.gym.rotation_error(a, b)
    assert np.allclose(error, about([1, 2, 3], 1.1), atol=1e-15)
    for angle in [0.0, 1e-9, 0.3, 3.0, np.pi]:
        assert ft.gym.angle(about([0, 1, 1], angle)) == pytest.approx(angle, abs=1e-15)
        assert ft.gym.angle(-about([0, 1, 1], angle)) == ft.gym.angle(about([0, 1, 1], angle))
    # In world axes: x first, then the turn about z.
    turn = ft.gym.rotation_error(ft.gym.rotation_error(about([0, 0, 1], 0.2), about([1, 0, 0], -0.5)), about([1, 0, 0], 0.5))
    assert np.allclose(turn, about([0, 0, 1], 0.2), atol=1e-15)


def test_angular_velocity():
    before, h = about([1, -1, 2], 0.9), 0.01
    for omega in [np.zeros(3), np.array([0.0, 0.0, 1e-7]), np.array([3.0, -1.0, 2.0]), np.array([0.0, 250.0, 0.0])]:
        angle = h * np.linalg.norm(omega)
        by = about(omega, angle) if angle else np.array([1.0, 0, 0, 0])
        after = ft.gym.rotation_error(by, before * [1, -1, -1, -1])
        for sign in [1, -1]:
            assert np.allclose(ft.gym.angular_velocity(before, sign * after, h), omega, rtol=1e-9, atol=1e-12)


def test_goals():
    goal = ft.gym.goal_rotation
    assert np.allclose(goal(np.array([0.0, 0.0])), [1, 0, 0, 0])
    assert np.allclose(goal(np.array([0.5, 0.0])), about([1, 0, 0], np.pi / 2))
    assert np.allclose(goal(np.array([[0.0, -1.0]])), [about([0, 1, 0], -np.pi)])
    both = ft.gym.rotation_error(about([1, 0, 0], np.pi / 2), about([0, 1, 0], -np.pi / 2))
    assert np.allclose(goal(np.array([0.5, 0.5])), both)


def test_reward():
    distance, angle = np.array([0.0, 0.1, 0.0]), np.array([0.9, 0.4, 0.1])
    action = np.array([[0.0, 0.0], [1.0, -1.0], [0.0, 0.5]])
    expected = [1.0, -1.0 + 2.0 - 4e-4, 5.0 - 5e-5 + 250.0]
    assert np.allclose(ft.gym.reward(distance, angle, action), expected, rtol=1e-14)
    assert ft.gym.reward(0.0, 0.4, np.zeros(1), ft.gym.Settings(rotation_weight=3.0)) == pytest.approx(6.0)


def test_observation(env):
    observation, infos = env.reset(seed=3)
    assert observation.shape == (4, 72) and observation.dtype == np.float32 and observation in env.observation_space
    before = env.q.copy()
    action = actions(env)
    observation, rewards, terminated, truncated, infos = env.step(action)
    assert rewards.dtype == np.float64 and terminated.dtype == truncated.dtype == bool and not terminated.any()
    # By hand, of the same rollout.
    sim, n = env.sim, 16
    target = env.lower + 0.5 * (action.astype(float) + 1) * (env.upper - env.lower)
    start = before[:, 7:]
    u = np.stack([start + np.clip(target - start, -7 * k / 120, 7 * k / 120) for k in range(1, 5)], 1)
    made = sim.rollout(before, u)
    assert sim.params["h"] == 1 / 120 and np.allclose(made.q[:, -1], env.q, rtol=0, atol=1e-13)
    parts = np.split(observation.astype(float), np.cumsum([n, n, 3, 4, 3, 3, 3, 4, 4]), axis=1)
    joints, rates, place, rotation, velocity, spin, wanted, goal, error, last = parts
    assert np.allclose(env.lower + 0.5 * (joints + 1) * (env.upper - env.lower), made.q[:, -1, 7:], atol=1e-6)
    assert np.allclose(rates, 0.2 * 120 * (made.q[:, -1] - made.q[:, -2])[:, 7:], atol=1e-5)
    assert np.allclose(place, made.q[:, -1, :3], atol=1e-7) and np.allclose(rotation, made.q[:, -1, 3:7], atol=1e-7)
    assert np.allclose(velocity, 120 * (made.q[:, -1] - made.q[:, -2])[:, :3], atol=1e-5)
    # Small turns: twice the quaternion's change, in world axes.
    turn = ft.gym.rotation_error(made.q[:, -1, 3:7], made.q[:, -2, 3:7])
    assert np.allclose(spin, 0.2 * 240 * turn[:, 1:], atol=1e-3)
    assert np.allclose(wanted, [0.065, 0.0, 0.04]) and np.allclose(goal, env.goal, atol=1e-7)
    assert np.allclose(np.abs((rotation * goal).sum(1)), np.abs(error[:, 0]), atol=1e-6)
    assert np.array_equal(last, action.astype(float))
    distance = np.linalg.norm(made.q[:, -1, :3] - [0.065, 0, 0.04], axis=1)
    by_hand = -10 * distance + 1 / (ft.gym.angle(error) + 0.1) - 2e-4 * (action.astype(float) ** 2).sum(1)
    assert np.allclose(rewards, by_hand + 250 * (ft.gym.angle(error) <= 0.2), atol=1e-4)
    assert np.array_equal(infos["status"], made.status.max(1))


def with_pads(tmp_path):
    """The scene with a pad all around the thumb's tip, and one on the middle finger's that is too far inside to feel anything."""
    normals = np.random.default_rng(0).standard_normal((60, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    np.savetxt(tmp_path / "tip.csv", np.hstack([0.012 * normals, normals]), delimiter=",")
    pad = '[[taxels]]\nname = "{0}"\nlink = "hand/{0}_tip"\nfile = "tip.csv"\nreach = {1}\n'
    text = SCENE.read_text().replace("../robots", str(SCENE.parent.parent / "robots"))
    return ft.Model.from_toml(text + pad.format("thumb", 0.01) + pad.format("middle", 1e-6), tmp_path)


def test_touch(tmp_path):
    """Forces by hand, from the contacts of a rollout; the thumb's pad feels all of its tip's normal force."""
    model = with_pads(tmp_path)
    env = ft.gym.CubeReorient(model, 4, touch=True)
    bare = ft.gym.CubeReorient(model, 4)
    observation, _ = env.reset(seed=3)
    bare.reset(seed=3)
    tips = [f"hand/{name}_tip" for name in ("index", "middle", "ring", "thumb")]
    assert sorted(env.touched) == tips and list(env.skin.pads) == ["thumb", "middle"]
    assert {name: rows.shape for name, rows in observation.items()} == {
        "observation": (4, 72), "force": (4, 4, 3), "taxels": (4, 120)
    }
    assert not observation["force"].any() and not observation["taxels"].any() and observation in env.observation_space
    names, most = model.contact_names, 0.0
    for k in range(12):
        before, told = env.q.copy(), env.u.copy()
        action = np.full((4, 16), 0.4 + 0.05 * k, np.float32)
        observation, *_ = env.step(action)
        assert np.array_equal(observation["observation"], bare.step(action)[0]) and observation in env.observation_space
        change = env.lower + 0.5 * (action.astype(float) + 1) * (env.upper - env.lower) - told
        made = env.sim.rollout(before, np.stack([told + np.clip(change, -7 * i / 120, 7 * i / 120) for i in range(1, 5)], 1))
        force, start = made.force[:, -1], made.q[:, -2]
        axes = model.body_poses(start, env.touched)[1]
        for at, tip in enumerate(env.touched):
            signs = np.array([(b == tip) - float(a == tip) for a, b in names])
            own = np.einsum("c,bck,bkl->bl", signs, force, axes[:, at])
            assert np.allclose(observation["force"][:, at], own, rtol=1e-5, atol=1e-5)
        pads = observation["taxels"].reshape(4, 2, 60)
        step = env.sim.step(start, env.u)
        pressed = np.abs((step.force * step.normal).sum(-1))[:, ["hand/thumb_tip" in pair for pair in names]].sum(1)
        assert np.allclose(pads[:, 0].sum(1), pressed, rtol=1e-5, atol=1e-5) and not pads[:, 1].any()
        most = max(most, pressed.max())
    assert most > 0.1


def test_touch_by_name():
    env = short(2, "SameStep", touch=["hand", "hand/thumb_tip"])
    assert env.touched == ["hand", "hand/thumb_tip"] and env.skin is None
    observation, _ = env.reset(seed=1)
    assert set(observation) == {"observation", "force"}
    for _ in range(3):
        observation, *_, infos = env.step(np.ones((2, 16), np.float32))
    # Of the episode that has ended; the next one has felt nothing yet.
    assert not observation["force"].any()
    final = infos["final_obs"][1]
    assert final["force"].shape == (2, 3) and final["force"].any() and final in env.single_observation_space
    one = gymnasium.make("fingertip.gym:FingertipAllegroCube-v0", touch=True)
    observation, _ = one.reset(seed=0)
    assert observation["force"].shape == (4, 3) and observation in one.observation_space
    with pytest.raises(ft.Error, match='"hand/thum"'):
        short(touch=["hand/thum"])


def test_starts_do_not_overlap(env):
    env = ft.gym.CubeReorient(SCENE, 200)
    env.reset(seed=0)
    assert env.sim.step(env.q, env.u).phi.min() > 0
    assert (env.q[:, 7:] >= env.lower).all() and (env.q[:, 7:] <= env.upper).all()
    assert np.unique(env.goal, axis=0).shape == (200, 4)


def history(env, steps=7, seed=5):
    made = [env.reset(seed=seed)[0]]
    random = np.random.default_rng(1)
    for _ in range(steps):
        all = random.uniform(-1, 1, (8, 16))[env.first_world : env.first_world + env.num_envs]
        observation, rewards, terminated, truncated, _ = env.step(all)
        made.append(np.column_stack([observation, rewards, terminated, truncated]))
    return made


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_bits_do_not_depend_on_the_number_of_worlds(mode):
    all = history(short(8, mode))
    for first, worlds, threads in [(0, 1, None), (0, 3, 1), (5, 3, 2)]:
        some = history(short(worlds, mode, first_world=first, threads=threads))
        for a, b in zip(all, some, strict=True):
            assert np.array_equal(a[first : first + worlds], b)
    again = history(short(8, mode))
    assert all[-1].tobytes() == again[-1].tobytes()
    assert not np.array_equal(history(short(8, mode), seed=6)[-1], again[-1])


def test_parameters_of_each_world():
    mass, mu = np.array([[0.05], [0.1], [0.2]]), 0.5
    all = history(short(mass=mass, mu=mu))
    for k in range(3):
        some = history(short(1, first_world=k, mass=mass[k], mu=mu))
        assert all[-1][k].tobytes() == some[-1][0].tobytes()


def test_pickles():
    env = short()
    env.reset(seed=1), env.step(actions(env))
    other = pickle.loads(pickle.dumps(env))
    for k in range(4):  # over an end
        a, b = env.step(actions(env, k)), other.step(actions(env, k))
        assert all(np.array_equal(x, y) for x, y in zip(a[:4], b[:4], strict=True))


def test_next_step():
    env = short()
    first, infos = env.reset(seed=1)
    assert infos["_successes"].all() and not infos["successes"].any()
    for k in range(3):
        last, _, terminated, truncated, _ = env.step(actions(env, k))
        assert truncated.all() == (k == 2) and not terminated.any()
    begun, rewards, _, truncated, infos = env.step(actions(env))
    assert not rewards.any() and not truncated.any() and not np.array_equal(begun, first)
    assert (begun[:, 16:32] == 0).all() and "final_obs" not in infos
    _, rewards, *_ = env.step(actions(env))
    assert rewards.all()


def test_same_step():
    env, other = short(mode="SameStep"), short(mode=AutoresetMode.DISABLED)
    env.reset(seed=1), other.reset(seed=1)
    for k in range(3):
        seen, rewards, _, truncated, infos = env.step(actions(env, k))
        last, rewards_of, _, truncated_of, infos_of = other.step(actions(env, k))
        assert np.array_equal(rewards, rewards_of) and np.array_equal(truncated, truncated_of)
    assert truncated.all() and infos["_final_obs"].all() and infos["_final_info"].all()
    assert np.array_equal(np.stack(infos["final_obs"]), last)
    assert np.array_equal(infos["final_info"]["status"], infos_of["status"])
    assert np.array_equal(seen, other.reset(options={"reset_mask": truncated})[0])
    assert not env.step(actions(env))[3].any()


def test_disabled():
    env = short(mode=AutoresetMode.DISABLED)
    env.reset(seed=1)
    env.step(actions(env))
    mask = np.array([False, True, False])
    kept = env.q.copy()
    seen, infos = env.reset(options={"reset_mask": mask})
    assert np.array_equal(infos["_status"], mask)
    assert np.array_equal(env.q[~mask], kept[~mask]) and not np.array_equal(env.q[mask], kept[mask])
    for k in range(2):
        truncated = env.step(actions(env))[3]
    assert truncated.tolist() == [True, False, True]
    with pytest.raises(ft.Error, match="worlds 0, 2 have ended: expected reset"):
        env.step(actions(env))
    env.reset(options={"reset_mask": truncated})
    assert env.step(actions(env))[3].tolist() == [False, True, False]
    # A seed begins the streams of the mask's worlds anew.
    all, _ = env.reset(seed=9)
    env.step(actions(env))
    some, _ = env.reset(seed=9, options={"reset_mask": mask})
    assert np.array_equal(some[1], all[1]) and not np.array_equal(some[0], all[0])


def test_a_fall_terminates():
    env = ft.gym.CubeReorient(SCENE, 3, autoreset_mode="SameStep")
    env.reset(seed=1)
    env.q[1, :3] += [0.5, 0.0, 0.1]
    _, rewards, terminated, truncated, infos = env.step(np.zeros((3, 16)))
    assert terminated.tolist() == [False, True, False] and not truncated.any()
    assert rewards[1] < -4.0 and infos["final_obs"][0] is None and infos["final_obs"][1].shape == (72,)
    assert np.linalg.norm(env.q[1, :3] - env.place) < 0.02


def test_a_goal_that_is_reached_is_followed_by_another(env):
    env.reset(seed=2)
    env.goal[2] = env.q[2, 3:7]
    goals = env.goal.copy()
    seen, rewards, _, _, infos = env.step(actions(env))
    assert infos["success"].tolist() == [False, False, True, False] == infos["successes"].astype(bool).tolist()
    assert rewards[2] > 250 and (rewards[[0, 1, 3]] < 20).all()
    assert np.array_equal(env.goal[[0, 1, 3]], goals[[0, 1, 3]]) and not np.array_equal(env.goal[2], goals[2])
    assert np.allclose(seen[2, 48:52], env.goal[2], atol=1e-6)
    _, _, _, _, infos = env.step(actions(env))
    assert infos["successes"][2] == 1 and not infos["success"][2]


@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # velocities have no bounds
@pytest.mark.parametrize("mode", AutoresetMode)
def test_gymnasiums_checks(mode):
    """`check_env` takes no vector environments; its parts do."""
    from gymnasium.utils import env_checker, passive_env_checker

    env = short(mode=mode)
    assert isinstance(env, gymnasium.vector.VectorEnv) and env.metadata["autoreset_mode"] is mode
    for space, batch in [
        (env.single_action_space, env.action_space),
        (env.single_observation_space, env.observation_space),
    ]:
        assert batch == gymnasium.vector.utils.batch_space(space, env.num_envs)
    for space, name, check in [
        (env.action_space, "action", passive_env_checker.check_action_space),
        (env.observation_space, "observation", passive_env_checker.check_observation_space),
    ]:
        check(space)
        env_checker.check_space_limit(space, name)
    env_checker.check_seed_deprecation(env)
    env_checker.check_reset_return_type(env)
    env_checker.check_reset_seed_determinism(env)
    env_checker.check_reset_options(env)
    # `check_step_determinism` asks whether `truncated is False`.
    steps = [[env.reset(seed=4), *(env.step(actions(env, k)) for k in range(3))] for _ in range(2)]
    assert env_checker.data_equivalence(*steps, exact=True)
    if hasattr(env_checker, "check_returned_data_not_reused"):
        env_checker.check_returned_data_not_reused(short(1, mode))
    env.close()
    env.close()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_gymnasiums_wrappers(mode):
    vector = gymnasium.wrappers.vector
    env = vector.RecordEpisodeStatistics(vector.ClipReward(short(mode=mode), max_reward=10.0))
    env.reset(seed=0)
    for _ in range(3):
        _, rewards, _, truncated, infos = env.step(actions(env))
    assert truncated.all() and (rewards <= 10).all()
    assert (infos["episode"]["l"] == 3).all()


def test_registered():
    env = gymnasium.make_vec("fingertip.gym:FingertipAllegroCube-v0", num_envs=2, scene=SCENE, mu=0.5)
    assert env.unwrapped.sim.params["mu"].max() == 0.5
    normal = gymnasium.wrappers.vector.NormalizeObservation(env)
    observation, _ = normal.reset(seed=0)
    assert observation.shape == (2, 72)
    normal.step(normal.action_space.sample())


BAD = {
    "no worlds": (lambda: ft.gym.CubeReorient(SCENE, 0), "num_envs: expected at least 1, got 0"),
    "no cube": (lambda: ft.gym.CubeReorient(SCENE, cube="ball"), "ball"),
    "not free": (lambda: ft.gym.CubeReorient(SCENES / "hand_ball.toml", cube="ball"), "cube: expected a free object"),
    "step's length": (lambda: ft.gym.CubeReorient(SCENE, h=0.01), "h: expected `period` and `substeps`"),
    "no substeps": (lambda: ft.gym.CubeReorient(SCENE, settings=ft.gym.Settings(substeps=0)), "substeps: expected at least 1"),
    "before reset": (lambda: short().step(np.zeros((3, 16))), r"expected reset\(\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    work, message = BAD[case]
    with pytest.raises(ft.Error, match=message):
        work()


def test_bad_actions_and_masks(env):
    env.reset(seed=0)
    with pytest.raises(ft.Error, match=r"actions: expected shape \(4, 16\), got \(16,\)"):
        env.step(np.zeros(16))
    with pytest.raises(ft.Error, match="actions: expected finite numbers, got nan"):
        env.step(np.full((4, 16), np.nan))
    for mask in [[True] * 4, np.ones(3, bool), np.ones(4), np.zeros(4, bool)]:
        with pytest.raises(ft.Error, match=r"reset_mask: expected a bool array \(4,\)"):
            env.reset(options={"reset_mask": mask})
    before = env.q.copy()
    env.step(np.full((4, 16), 7.0))
    once = env.q.copy()
    env.q[:], env.u[:] = before, before[:, 7:]
    env.step(np.ones((4, 16)))
    assert np.array_equal(env.q, once)  # what is outside is cut


def test_render():
    """The first world's episode, as a replay of all simulation steps."""
    env = ft.gym.CubeReorient("allegro_cube", 2, render_mode="replay", settings=ft.gym.Settings(seconds=0.2))
    assert env.render() is None
    env.reset(seed=3)
    start = env.q[0].copy()
    for k in range(1, 7):
        _, _, _, truncated, _ = env.step(actions(env, k))
        replay = env.render()
        assert replay.n_steps == 4 * k and truncated.all() == (k == 6)
    rows, layout = frames(replay.html())
    q = rows[:, layout["q"] : layout["u"]]
    assert np.allclose(q[0], start, atol=1e-6) and np.allclose(q[-1], env.q[0], atol=1e-6)
    assert np.allclose(rows[-1, layout["u"] : layout["poses"]], env.u[0], atol=1e-6)
    assert rows[-1, layout["time"]] == pytest.approx(0.2)
    # The next episode begins, and then moves.
    for steps in [24, 4]:
        env.step(actions(env))
        assert env.render().n_steps == steps
    assert ft.gym.CubeReorient("allegro_cube").render() is None
    with pytest.raises(ft.Error, match="render_mode: expected None or \"replay\", got 'human'"):
        ft.gym.CubeReorient("allegro_cube", render_mode="human")


def test_one_world():
    """`gymnasium.make` gives the first world of the batch, without its axis."""
    env = gymnasium.make("fingertip.gym:FingertipAllegroCube-v0", settings=ft.gym.Settings(**SHORT), render_mode="replay")
    batch = short(1, "Disabled")
    seen, infos = env.reset(seed=3)
    assert np.array_equal(seen, batch.reset(seed=3)[0][0]) and infos == {"success": False, "successes": 0, "status": 0}
    for step in range(3):
        action = np.full(env.action_space.shape, 0.1 * step, np.float32)
        expected = batch.step(action[None])
        observation, reward, terminated, truncated, infos = env.step(action)
        assert np.array_equal(observation, expected[0][0]) and reward == expected[1][0] and truncated == (step == 2)
        assert not terminated and infos["status"] == 0 and observation in env.observation_space
    with pytest.raises(ft.Error, match="have ended"):
        env.step(action)
    assert env.render().n_steps == 12 and env.unwrapped.sim.model.nu == 16
    again, _ = env.reset()
    assert not np.array_equal(again, seen)
    with pytest.raises(AttributeError):
        env.unwrapped.nothing
    env.close()


@pytest.mark.parametrize("name", ["AllegroCube", "LeapCubeReorient", "AllegroRotate"])
def test_gymnasiums_check_of_one_world(name):
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make(f"fingertip.gym:Fingertip{name}-v0").unwrapped, skip_render_check=True)
