"""What the tests share: the repository's scenes, and states near home."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

# Before the first error: messages must not have traces even so.
os.environ["RUST_BACKTRACE"] = "1"

import fingertip as ft

ROOT = Path(__file__).resolve().parents[2]
SCENES = ROOT / "assets" / "scenes"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# The command line that comes with the package.
COMMAND = [sys.executable, "-m", "fingertip"]


def near_home(model, worlds, seed=1, size=1e-3):
    """q and u of some worlds, each a little off home and off the script's command at 0.5 s."""
    random = np.random.default_rng(seed)
    q = model.home(worlds) + size * random.standard_normal((worlds, model.nq))
    u = model.control(0.5) + size * random.standard_normal((worlds, model.nu))
    return q, u


@pytest.fixture(scope="session")
def hand():
    """A hand over a ball on a table: nq = nv."""
    return ft.Model.load(SCENES / "hand_ball.toml")


@pytest.fixture(scope="session")
def cube():
    """A free cube on a palm between fingertips."""
    return ft.Model.load(SCENES / "allegro_cube.toml")


@pytest.fixture(scope="session")
def push():
    """Bodies in a plane."""
    return ft.Model.load(SCENES / "push.toml")


@pytest.fixture(scope="session")
def sim(hand):
    return ft.Quasidynamic(hand)
