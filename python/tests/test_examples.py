"""The examples run. Those that learn with torch do where it is installed; how long they take is in python/examples/README.md."""

import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "python" / "examples"


def lines(name, *arguments):
    done = subprocess.run([sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_identification():
    pytest.importorskip("scipy")
    assert len(lines("identify.py")) == 3


def test_own_object():
    own, second_order = lines("own_object.py")
    assert "success at" in own and "success at" in second_order


def test_fit():
    assert "alike" in lines("fit.py")[-1]


def test_follow():
    assert lines("follow.py")[-1].startswith("joints are within")


def test_control_loop():
    """With a plant in another process, a late plan and a planner that hangs; the program says itself what should be."""
    *_, runs, ball = lines("control_loop.py")
    assert " planned, " in runs and ball.startswith("the ball is ")


def test_policy_gradients():
    pytest.importorskip("torch")
    (line,) = lines("policy_gradient.py", "gradient", "--seconds", "60")
    assert float(line.split()[3]) >= 0.8
