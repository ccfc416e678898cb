"""ShadowBlock beside Gymnasium-Robotics' own code: tests/golden/shadow_block.json has what that sees and gives on drawn states, written by the
program of that name. The hand is that package's, which need not be importable."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import fingertip as ft

gymnasium = pytest.importorskip("gymnasium", "1.1")

STATES = json.loads((ROOT / "tests" / "golden" / "shadow_block.json").read_text())["states"]
DENSE, SHORT = ft.gym.ShadowSettings(reward="dense"), ft.gym.ShadowSettings(periods=3)


def column(name):
    return np.array([state[name] for state in STATES])


@pytest.fixture(scope="module")
def model():
    package = importlib.util.find_spec("gymnasium_robotics")
    if package is None:
        pytest.skip("Shadow's hand comes with gymnasium-robotics")
    return ft.gym.shadow_model(Path(package.origin).parent / "envs" / "assets" / "hand" / "manipulate_block.xml")


def rated(model, settings):
    """An environment whose worlds are in the states, what it commands, and what it gives for the states."""
    env = ft.gym.ShadowBlock(model, len(STATES), settings=settings, threads=1)
    env.reset(seed=0)
    commands = env._commands(column("action"))
    env.q[:, env._cube], env.q[:, env._joints], env.goal = column("block"), column("joints"), column("goal")
    env.v[:, env._cube_v], env.v[:, env._joints_v] = column("v")[:, 24:], column("v")[:, :24]
    return env, commands, env._rate(np.ones(len(STATES), bool), column("action"))


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_rewards_without_the_hand(kind):
    """Of poses alone."""
    settings = ft.gym.ShadowSettings(reward=kind)
    away, turn = ft.gym.goal_distance(column("achieved_goal"), column("desired_goal"), settings)
    # Theirs adds and rounds in another order: the arc cosine doubles digits near 1.
    assert np.allclose(-(10 * away + turn), column("dense"), rtol=0, atol=1e-9)
    assert np.array_equal((away < 0.01) & (turn < 0.1), column("success")) and column("success").sum() == 1
    assert (turn > np.pi).any(), "no state has a quaternion with the other sign"
    assert not ft.gym.goal_distance(column("achieved_goal"), column("desired_goal"), ft.gym.ShadowSettings(is_placed=False))[0].any()


def test_as_the_original(model):
    env, commands, (rewards, ended, success) = rated(model, ft.gym.ShadowSettings())
    names = [name.rsplit(":")[-1] for name in env.sim.model.u_names]
    for state, command in zip(STATES, commands, strict=True):
        own = dict(zip(names, command[0], strict=True))
        assert all(own[name] == pytest.approx(value, abs=1e-11) for name, value in state["commands"].items())
        assert all(own[f"{finger}J0"] == own[f"{finger}J1"] for finger in ("FF", "MF", "RF", "LF"))
    seen = env._shown()
    for name in ("observation", "achieved_goal", "desired_goal"):
        assert np.allclose(seen[name], column(name), rtol=0, atol=1e-6), name
    assert np.array_equal(rewards, column("sparse")) and np.array_equal(success, column("success")) and not ended.any()
    assert np.allclose(rated(model, DENSE)[2][0], column("dense"), rtol=0, atol=1e-9)
    assert np.allclose(env.compute_reward(seen["achieved_goal"], seen["desired_goal"]), column("sparse"))


def run(env, periods=4):
    made = [env.reset(seed=5)[0]]
    random = np.random.default_rng(1)
    for _ in range(periods):
        every = random.uniform(-1, 1, (3, 20))[env.first_world : env.first_world + env.num_envs]
        observation, rewards, terminated, truncated, infos = env.step(every)
        made.append(observation | {"rest": np.column_stack([rewards, terminated, truncated, infos["is_success"]])})
    return made


def test_episodes(model):
    make = lambda worlds, **more: ft.gym.ShadowBlock(model, worlds, autoreset_mode="SameStep", settings=SHORT, **more)
    env = make(3)
    every = run(env)
    assert every[0] in env.observation_space and [made["rest"][0, 2] for made in every[1:]] == [0, 0, 1, 0]
    first = every[0]
    assert (first["achieved_goal"][:, 2] > 0.04).all(), "a block is not on the palm"
    away = first["desired_goal"][:, :3] - first["achieved_goal"][:, :3]
    assert (away >= [-0.0401, -0.0601, -1e-4]).all() and (away <= [0.0401, 0.0201, 0.0601]).all()
    for a, b in zip(every, run(make(2, first_world=1, threads=1)), strict=True):
        assert a.keys() == b.keys() and all(np.array_equal(a[name][1:], b[name]) for name in a)


@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # velocities have no bounds
def test_gymnasiums_checks(model):
    from gymnasium.utils import env_checker

    env = gymnasium.make_vec("fingertip.gym:FingertipShadowBlock-v0", num_envs=2, scene=model, settings=SHORT).unwrapped
    env_checker.check_reset_return_type(env)
    env_checker.check_reset_seed_determinism(env)
    env_checker.check_reset_options(env)


def test_what_is_refused(tmp_path):
    allegro = ft.Model.load("allegro_cube")
    with pytest.raises(ft.Error, match="reward: expected .*, got 'none'"):
        ft.gym.ShadowBlock(tmp_path, settings=ft.gym.ShadowSettings(reward="none"))
    with pytest.raises(FileNotFoundError):
        ft.gym.ShadowBlock(tmp_path / "manipulate_block.xml")
    with pytest.raises(ft.Error, match="scene: expected the 24 joints of a Shadow hand, got"):
        ft.gym.ShadowBlock(ft.Model.from_toml(allegro.text.replace('"cube"', '"object"'), allegro.folder))


def test_one_world(model):
    """As a `GoalEnv`'s: a dictionary, whose rewards can be computed for other goals; the hand is found where its package is installed."""
    env = gymnasium.make("fingertip.gym:FingertipShadowBlock-v0", settings=SHORT)
    seen, _ = env.reset(seed=0)
    assert seen in env.observation_space and seen["achieved_goal"].shape == (7,)
    seen, reward, *_ = env.step(env.action_space.sample())
    assert reward == env.unwrapped.compute_reward(seen["achieved_goal"], seen["desired_goal"], {})


def test_without_the_hand(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ft.Error, match="scene: expected the path of Gymnasium-Robotics' manipulate_block.xml, got none"):
        ft.gym.ShadowBlock()
