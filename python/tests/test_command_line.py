"""The program `fingertip` that comes with the package."""

import json
import signal
import subprocess
import urllib.request
from importlib.metadata import PackageNotFoundError, entry_points, version

import pytest
from conftest import COMMAND

import fingertip as ft


def ran(*arguments, **options):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, **options)


def test_exit_status():
    assert ran("tasks").returncode == 0 and "hand_turn" in ran("tasks").stdout
    never = ran("mpc", "pull", "--episodes", "1", "--cap", "1", "--json")
    assert never.returncode == 1 and json.loads(never.stdout)["success"] is None
    missing = ran("view", "nothing")
    assert missing.returncode == 2 and missing.stderr.startswith("error: nothing: there is no file, scene or task")
    assert ran("step").returncode == 2 and "Usage: fingertip step" in ran("step").stderr
    assert ran("--version").stdout.split()[-1] == ft.__version__


def test_lines_go_in_and_out():
    said = ran("step", "hand_ball", input="{}\n")
    assert len(json.loads(said.stdout)["q_next"]) == 24


def test_a_live_page_until_ctrl_c():
    process = subprocess.Popen([*COMMAND, "view", "hand_turn", "--no-open"], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().split()[-1]
        assert b"<!doctype html>" in urllib.request.urlopen(address, timeout=20).read(200)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_entry_point():
    try:
        version("fingertip-sim")
    except PackageNotFoundError:
        pytest.skip("the package is not installed")
    (entry,) = entry_points(group="console_scripts", name="fingertip")
    assert entry.load() is __import__("fingertip.__main__", fromlist=["main"]).main
