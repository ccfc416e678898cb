"""RotateInHand beside ManiSkill's own code: tests/golden/maniskill_rotate.json has what that sees and gives on drawn states, written by the
program of that name."""

import json

import numpy as np
import pytest
from conftest import ROOT

import fingertip as ft

gymnasium = pytest.importorskip("gymnasium", "1.1")

STATES = json.loads((ROOT / "tests" / "golden" / "maniskill_rotate.json").read_text())["states"]
SHORT = ft.gym.RotateSettings(periods=3)


def column(name):
    return np.array([state[name] for state in STATES])


@pytest.fixture(scope="module")
def rated():
    """An environment whose worlds are in the states after their steps, and what it gives for these."""
    env = ft.gym.RotateInHand(num_envs=len(STATES))
    env.reset(seed=0)
    env.q[:, env._joints] = column("before")
    commands = env._commands(column("action"))
    assert (commands >= env.lower).all() and (commands <= env.upper).all()
    inside = np.clip(env._target, env.lower, env.upper)
    assert np.array_equal(commands, np.repeat(inside[:, None], 5, 1))
    env.q = np.hstack([column("cube"), column("joints")])
    env.v = np.hstack([column("speed"), np.zeros((len(STATES), 3)), column("velocity")])
    env._pointed, env._info["turned"] = column("pointed"), column("turned")
    return env, env._rate(np.ones(len(STATES), bool), column("action"))


def test_observations(rated):
    env, _ = rated
    seen = env._seen
    expected = np.hstack([column("joints"), column("velocity")])
    assert seen.shape == (len(STATES), 89) and np.allclose(seen[:, :32], expected, rtol=0, atol=1e-6)
    # Poses of their URDF; theirs by another formula, both with w ≥ 0. Single precision.
    assert np.allclose(seen[:, 32:67], column("poses"), rtol=0, atol=1e-6)
    assert np.array_equal(seen[:, 67:70], np.tile([0, 0, 1], (len(STATES), 1)))
    assert np.allclose(seen[:, 70:77], column("cube"), rtol=0, atol=1e-6)
    assert np.allclose(seen[:, 77:], column("tips"), rtol=0, atol=1e-6)


def test_rewards(rated):
    env, (rewards, ended, success) = rated
    # The arc cosine of numbers near 1, and a URDF's angles to 12 digits.
    assert np.allclose(env._info["turned"], column("turned_after"), rtol=0, atol=1e-8)
    assert np.allclose(rewards, column("reward"), rtol=0, atol=1e-7)
    assert np.array_equal(success, column("success")) and success.sum() == 1
    assert np.array_equal(ended, column("success") | column("fail")) and ended.sum() == 2
    assert np.allclose(env._pointed, column("pointed_after"), rtol=0, atol=1e-11)
    turns = column("turn")
    assert (turns == np.round(np.pi / 20, 12)).any() and ((0 < turns) & (turns < 0.15)).any()


def test_terms():
    terms = ft.gym.rotate_reward_terms(
        np.array([0.1]), np.array([0.5]), np.array([True]), np.array([[3.0, 4.0]]), np.array([[1.0, 1.0]]), np.array([[0.0, 0.02, 0.245, 1.0]])
    )
    # 0.1/0.02 is cut at 1; 0.1/0.1, 0.1/1 and 0.1/4.02 are not.
    tips = (1 + 1 + 0.1 + 0.1 / 4.02) / 4
    expected = {"turn": 2.0, "speed": -0.05, "fall": -50.0, "power": -0.0003 * 7, "torque": -0.0003 * 5, "tips": tips}
    assert terms.keys() == expected.keys()
    assert all(terms[name][0] == pytest.approx(value) for name, value in expected.items())


def run(env, periods=5):
    made = [env.reset(seed=5)[0]]
    random = np.random.default_rng(1)
    for _ in range(periods):
        every = random.uniform(-1, 1, (4, 16))[env.first_world : env.first_world + env.num_envs]
        observation, rewards, terminated, truncated, infos = env.step(every)
        made.append(np.column_stack([observation, rewards, terminated, truncated, infos["turned"]]))
    return made


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_bits_do_not_depend_on_the_number_of_worlds(mode):
    make = lambda worlds, **more: ft.gym.RotateInHand(num_envs=worlds, autoreset_mode=mode, settings=SHORT, **more)
    every = run(make(4))
    for first, worlds, threads in [(0, 1, None), (1, 3, 1)]:
        for a, b in zip(every, run(make(worlds, first_world=first, threads=threads)), strict=True):
            assert np.array_equal(a[first : first + worlds], b)


def test_starts_and_endings():
    env = gymnasium.make_vec("fingertip.gym:FingertipAllegroRotate-v0", num_envs=200, autoreset_mode="SameStep", threads=1).unwrapped
    observation, _ = env.reset(seed=3)
    assert observation in env.observation_space
    assert np.std(env.q[:, :2]) == pytest.approx(0.02, rel=0.15)
    # Flat on the plane or above it.
    assert env.q[:, 2].min() >= 0.25 + 0.0098 + 0.04 and np.mean(env.q[:, 2] - 0.3002) == pytest.approx(0.02 * np.sqrt(2 / np.pi), rel=0.2)
    env._info["turned"][7] = 13.0
    _, _, terminated, _, infos = env.step(np.zeros((200, 16)))
    assert terminated[7] and terminated.sum() == 1 and infos["final_info"]["success"][7]
    assert env._info["turned"][7] == 0.0 and (env._info["status"] == 0).all()


@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # velocities have no bounds
def test_gymnasiums_checks():
    from gymnasium.utils import env_checker

    env = ft.gym.RotateInHand(num_envs=2, settings=SHORT)
    env_checker.check_reset_return_type(env)
    env_checker.check_reset_seed_determinism(env)
    env_checker.check_reset_options(env)


def test_other_hands_are_refused():
    hand = ft.Model.load("hand_turn")
    with pytest.raises(ft.Error, match="scene: expected 16 commanded joints, got 21"):
        ft.gym.RotateInHand(ft.Model.from_toml(hand.text.replace('"ball"', '"cube"'), hand.folder))
    with pytest.raises(ft.Error, match="scene: expected a site 'palm', got none"):
        ft.gym.RotateInHand("allegro_cube")


def test_quaternions_of_matrices():
    random = np.random.default_rng(0)
    q = random.standard_normal((1000, 4))
    # Half turns about each axis, and nearly so.
    q[:6] = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1e-9, 1, 1e-9, 0], [1e-9, 0, 1, 1e-9], [1, 0, 0, 0]]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    made = ft.gym.rotations.of_matrix(ft.gym.rotations.matrix(q))
    assert np.allclose(np.abs((made * q).sum(1)), 1.0, rtol=0, atol=1e-14) and (made[:, 0] >= 0).all()
