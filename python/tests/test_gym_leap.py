"""LeapCubeReorient beside MuJoCo Playground's own code: tests/golden/leap_reorient.json has what that sees and gives on drawn states,
written by the program of that name."""

import json

import numpy as np
import pytest
from conftest import ROOT

import fingertip as ft

gymnasium = pytest.importorskip("gymnasium", "1.1")

STATES = json.loads((ROOT / "tests" / "golden" / "leap_reorient.json").read_text())["states"]
EXACT = ft.gym.LeapSettings(joint_noise=0.0, position_noise=0.0, rotation_noise=0.0)
SHORT = ft.gym.LeapSettings(periods=3)


def column(name):
    return np.array([state[name] for state in STATES])


@pytest.fixture(scope="module")
def rated():
    """An environment whose worlds are in the states after their steps, and what it gives for these."""
    env = ft.gym.LeapCubeReorient(num_envs=len(STATES), settings=EXACT)
    env.reset(seed=0)
    env.u = column("u")
    targets = env._commands(column("action"))
    env.u = targets[:, -1]
    env.q, env.goal = np.hstack([column("cube"), column("joints")]), column("goal")
    # Theirs has the hand before the cube.
    env.v = np.hstack([column("v")[:, 16:], column("v")[:, :16]])
    env._last, env._before, env._turning = column("last"), column("before"), column("turning")
    return env, targets, env._rate(np.ones(len(STATES), bool), column("action"))


def test_commands(rated):
    _, targets, _ = rated
    assert targets.shape == (len(STATES), 5, 16)
    assert np.allclose(targets, column("targets")[:, None], rtol=0, atol=1e-11)


def test_observations(rated):
    env, *_ = rated
    assert np.allclose(env._seen, column("state"), rtol=1e-6, atol=1e-6)
    # Single precision of velocities around 1; sites are a URDF's, with angles to 12 digits.
    assert np.allclose(env._info["privileged_state"], column("privileged_state"), rtol=1e-6, atol=1e-6)


def test_rewards(rated):
    env, _, (rewards, fallen, success) = rated
    assert np.allclose(rewards, column("reward"), rtol=0, atol=1e-9)
    assert np.array_equal(fallen, column("done")) and fallen.sum() == 1
    assert np.array_equal(success, [state["terms"]["success"] for state in STATES]) and success.sum() == 1


def test_goals(rated):
    env, _, (_, _, success) = rated
    same = ~success
    assert np.allclose(env._turning[same], column("turning_after")[same], rtol=0, atol=1e-12)
    assert np.allclose(env.goal[same], column("goal_after")[same], rtol=0, atol=1e-11)
    assert (env._turning[success] >= 1).all() and (env._turning[success] <= 5).all()
    # Theirs from the same numbers.
    turned = ft.gym.rotations.turned(column("goal"), column("turning_after"), 0.1)
    assert np.allclose(turned, column("goal_after"), rtol=0, atol=1e-11)


def test_terms():
    """Each term, of angles and distances computed here."""
    joints, cube, v = column("joints"), column("cube"), column("v")[:, :16]
    turn = 2 * np.arccos(np.abs((cube[:, 3:] * column("goal")).sum(1)))
    distance = np.linalg.norm([0.11, 0.0, 0.03] - cube[:, :3], axis=1)
    home = np.array([0.8, 0, 0.8, 0.8] * 3 + [0.8, 0.8, 0.8, 0])
    actions = column("action"), column("last"), column("before")
    terms = ft.gym.leap_reward_terms(turn, distance, joints - home, actions, v, 3 * (column("targets") - joints), column("done"))
    for name, value in terms.items():
        assert np.allclose(value, [state["terms"][name] for state in STATES], rtol=1e-7, atol=1e-9), name
    # The one with no weight there: a squared velocity in units of 4 rad/s.
    terms = ft.gym.leap_reward_terms(turn, distance, joints, actions, v, v, column("done"), ft.gym.LeapSettings(velocity_weight=2.0))
    assert np.allclose(terms["joint_vel"], (v**2).sum(1) / 8)


def test_starts_and_noise():
    env = ft.gym.LeapCubeReorient(num_envs=400, threads=1)
    observation, infos = env.reset(seed=3)
    assert observation.shape == (400, 57) and observation in env.observation_space
    assert infos["privileged_state"].shape == (400, 128) and infos["_privileged_state"].all()
    home = env.sim.model.home()
    assert (env.q[:, 7:] >= env.lower).all() and (env.q[:, 7:] <= env.upper).all()
    assert np.std(env.q[:, 8] - home[8]) == pytest.approx(0.1, rel=0.15)
    assert (np.abs(env.q[:, :3] - [0.1, 0.0, 0.05]) <= 0.01).all()
    # Uniform rotations: all of a quaternion's numbers have the variance 1/4.
    for rotation in (env.q[:, 3:7], env.goal):
        assert np.allclose((rotation**2).sum(1), 1) and np.allclose((rotation**2).mean(0), 0.25, atol=0.05)
    joints = observation[:, :16] - env.q[:, 7:]
    assert np.abs(joints).max() < 0.05 + 1e-6 and np.std(joints) == pytest.approx(0.05 / np.sqrt(3), rel=0.05)
    place = observation[:, 32:35] - infos["privileged_state"][:, 101:104]
    assert np.abs(place).max() < 0.02 + 1e-6 and np.std(place) == pytest.approx(0.02 / np.sqrt(3), rel=0.05)
    assert not observation[:, 41:].any()


def run(env, periods=5):
    made = [env.reset(seed=5)[0]]
    random = np.random.default_rng(1)
    for _ in range(periods):
        every = random.uniform(-1, 1, (4, 16))[env.first_world : env.first_world + env.num_envs]
        observation, rewards, terminated, truncated, infos = env.step(every)
        made.append(np.column_stack([observation, infos["privileged_state"], rewards, terminated, truncated]))
    return made


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_bits_do_not_depend_on_the_number_of_worlds(mode):
    make = lambda worlds, **more: ft.gym.LeapCubeReorient(num_envs=worlds, autoreset_mode=mode, settings=SHORT, **more)
    every = run(make(4))
    for first, worlds, threads in [(0, 1, None), (1, 3, 1)]:
        for a, b in zip(every, run(make(worlds, first_world=first, threads=threads)), strict=True):
            assert np.array_equal(a[first : first + worlds], b)


def test_what_is_seen_has_the_action_before():
    env = ft.gym.LeapCubeReorient(num_envs=2, settings=EXACT)
    env.reset(seed=0)
    random = np.random.default_rng(0)
    first, second = random.uniform(-0.2, 0.2, (2, 2, 16)).astype(np.float32)
    assert not env.step(first)[0][:, 41:].any()
    assert np.array_equal(env.step(second)[0][:, 41:], first)


def test_a_fall_terminates():
    env = ft.gym.LeapCubeReorient(num_envs=3, autoreset_mode="SameStep")
    env.reset(seed=1)
    env.q[1, :3] = [0.4, 0.0, -0.1]
    _, rewards, terminated, truncated, infos = env.step(np.zeros((3, 16)))
    assert terminated.tolist() == [False, True, False] and not truncated.any()
    assert rewards[1] < -4.0 and infos["final_info"]["privileged_state"][1, 103] > 0.05
    assert env.q[1, 2] > 0.03


def test_registered():
    env = gymnasium.make_vec("fingertip.gym:FingertipLeapCubeReorient-v0", num_envs=2, mu=0.5)
    assert env.unwrapped.sim.params["mu"].max() == 0.5
    gymnasium.wrappers.vector.NormalizeObservation(env).reset(seed=0)


@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # velocities have no bounds
def test_gymnasiums_checks():
    from gymnasium.utils import env_checker

    env = ft.gym.LeapCubeReorient(num_envs=2, settings=SHORT)
    env_checker.check_reset_return_type(env)
    env_checker.check_reset_seed_determinism(env)
    env_checker.check_reset_options(env)


def test_other_hands_are_refused():
    with pytest.raises(ft.Error, match="scene: expected the commanded joints if_mcp, .*got index_0"):
        ft.gym.LeapCubeReorient("allegro_cube")
    model = ft.Model.load("leap_cube")
    without = ft.Model.from_toml(model.text.replace('name = "th_tip", link', 'name = "other", link'), model.folder)
    with pytest.raises(ft.Error, match="scene: expected a site 'th_tip', got hand/grasp_site"):
        ft.gym.LeapCubeReorient(without)
