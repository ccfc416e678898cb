"""Replays: what is in them, and that a browser draws them in a notebook's frame."""

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from html import unescape

import numpy as np
import pytest
from conftest import COMMAND, near_home

import fingertip as ft


@pytest.fixture(scope="module")
def run():
    return ft.mpc.run(ft.Task.load("hand_turn").replace(cap=20))


@pytest.fixture(scope="module")
def rolled(hand, sim):
    q, _ = near_home(hand, 2)
    return sim.rollout(q, np.tile(hand.control(0.01 * np.arange(60)), (2, 1, 1)))


def header(page):
    return json.loads(re.search(r'<script[^>]*id="header"[^>]*>(.*?)</script>', page, re.DOTALL)[1])


def frames(page):
    """The rows of a page, and its layout."""
    layout = header(page)["layout"]
    rows = re.search(r'<script[^>]*id="frames"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
    numbers = np.frombuffer(base64.b64decode(rows), "<f4")
    # A live page's frame ends with its last contact.
    padded = np.full(-(-len(numbers) // layout["stride"]) * layout["stride"], np.nan, np.float32)
    padded[: len(numbers)] = numbers
    return padded.reshape(-1, layout["stride"]), layout


def contacts_of(rows, layout, nc):
    """What rows have of all contacts, (T, nc, 10): gap, normal, point and force, NaN of those that take no part."""
    all = np.full((len(rows), nc, 10), np.nan, np.float32)
    for row, of in zip(rows[:, layout["contacts"] :].reshape(len(rows), -1, 11), all):
        there = row[~np.isnan(row[:, 0])]
        of[there[:, 0].astype(int)] = there[:, 1:]
    return all


def test_a_rollout(hand, rolled):
    replay = ft.show(hand, rolled, world=1)
    assert replay.n_steps == 60 and repr(replay) == "<fingertip.Replay of 60 steps, 0.6 s>"
    rows, layout = frames(replay.html())
    at = layout["q"]
    assert np.allclose(rows[:, at : at + hand.nq], rolled.q[1], atol=1e-6)
    assert np.allclose(rows[:, layout["time"]], 0.01 * np.arange(61), atol=1e-6)
    contacts = contacts_of(rows[1:], layout, hand.nc)
    assert np.allclose(contacts[:, :, 7:], rolled.force[1], atol=1e-5)
    # Where contacts are is what a step from each state says.
    step = ft.Quasidynamic(hand).step(rolled.q[1, :-1], hand.control(0.01 * np.arange(60)))
    assert np.allclose(contacts[:, :, 0], step.phi, atol=1e-6) and np.allclose(contacts[:, :, 4:7], step.point_b, atol=1e-6)
    # The same states as an array, without their forces; commands are then where the joints are.
    plain, layout = frames(ft.show(hand, rolled.q[1], time=0.1 * np.arange(61)).html())
    assert np.allclose(plain[:, at : at + hand.nq], rolled.q[1], atol=1e-6) and plain[-1, 0] == np.float32(6.0)
    assert not np.nan_to_num(contacts_of(plain[1:], layout, hand.nc)[:, :, 7:]).any()


def test_a_single_state(hand, sim):
    """Home, an array, and where a step ended, with its forces."""
    q, u = near_home(hand, 2)
    step = sim.step(q, u)
    for shown, state, force in [
        (ft.show(hand), hand.home(), None),
        (ft.show(ft.Scene().robot("hand", urdf="../robots/hand21.urdf"), np.zeros(21)), None, None),
        (ft.show(hand, q[0]), q[0], None),
        (ft.show(hand, q[0], u=u[0], force=step.force[0]), q[0], step.force[0]),
        (ft.show(hand, step, world=1), step.q_next[1], step.force[1]),
        (ft.show(hand, sim.step(q[0], u[0])), step.q_next[0], step.force[0]),
    ]:
        assert shown.n_steps == 1
        if state is None:
            continue
        rows, layout = frames(shown.html())
        assert np.allclose(rows[:, layout["q"] : layout["q"] + hand.nq], np.tile(state, (2, 1)), atol=1e-6)
        [contacts] = contacts_of(rows[1:2], layout, hand.nc)
        assert np.allclose(contacts[:, 7:], 0.0 if force is None else force, atol=1e-5)


def test_a_run(run, tmp_path):
    replay = ft.show(run)
    assert replay.n_steps == 100
    page = replay.html()
    rows, layout = frames(page)
    of = header(page)
    assert of["scene"]["scene"] == "hand_turn" and of["plan"]["n_poses"] == 11
    goal = of["scene"]["goals"][0]
    assert np.allclose(goal["position"], run.episode.goal.position) and np.allclose(goal["quaternion"], run.episode.goal.quaternion)
    curves = dict(zip(of["scalars"], rows[1:, layout["scalars"] : layout["scalars"] + len(of["scalars"])].T))
    assert np.allclose(curves["position error"], np.repeat(run.errors["position"][:-1], 5), atol=1e-6)
    assert np.allclose(curves["cost"], np.repeat(run.cost, 5), rtol=1e-6)
    assert np.allclose(rows[1:, layout["u"] : layout["u"] + 21], np.repeat(run.u, 5, axis=0), atol=1e-6)
    # As the program reads it.
    replay.save(tmp_path / "run.mcap")
    replay.save(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text() == page
    subprocess.run([*COMMAND, "view", "run.mcap", "--html", "again.html"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    again, _ = frames((tmp_path / "again.html").read_text())
    assert np.allclose(again, rows, atol=2e-6, equal_nan=True)


def test_size(run):
    whole = ft.show(run).html()
    rows, layout = frames(whole)
    cut = ft.show(run).html(len(whole) // 2)
    assert len(cut) <= len(whole) // 2 + 5000
    fewer, _ = frames(cut)
    assert 10 < len(fewer) < len(rows) and np.array_equal(fewer[0], rows[0], equal_nan=True)
    assert np.array_equal(fewer[-1], rows[-1], equal_nan=True)
    assert np.all(np.diff(fewer[:, 0]) > 0) and np.diff(fewer[:, 0]).max() < 2.1 * np.diff(fewer[:, 0]).min()
    assert len(frames(ft.show(run).html(0))[0]) == 2
    long = ft.show(run.task.model, np.tile(run.q[:1], (20_000, 1)))
    assert len(long._repr_html_()) < 2_100_000


def test_what_cannot_be_shown(hand, rolled, run, tmp_path):
    q = rolled.q[0]
    for work, says in [
        (lambda: ft.show(hand, q[0, :20]), "q: expected shape (T, 24), got (2, 20)"),
        (lambda: ft.show(hand, q[:, :20]), "q: expected shape (T, 24), got (61, 20)"),
        (lambda: ft.show(hand, q[:0]), "q: expected two states at least, got 0"),
        (lambda: ft.show(hand, q * np.nan), "q: expected finite numbers, got NaN"),
        (lambda: ft.show(hand, q, time=np.zeros(61)), "time: expected times that rise"),
        (lambda: ft.show(hand, q, time=np.arange(60.0)), "time: expected shape (61,)"),
        (lambda: ft.show(hand, q, u=np.zeros((61, 21))), "u: expected shape (60, 21)"),
        (lambda: ft.show(hand, q, force=np.zeros((60, 18))), "force: expected shape (60, 6, 3)"),
        (lambda: ft.show(hand, rolled, world=2), "world: expected one of 2, the first axis of q, got 2"),
        (lambda: ft.show(run, q), "expected a run alone"),
        (lambda: ft.show(rolled), "expected a run, a model or a scene, got Rollout"),
        (lambda: ft.show(hand, rolled).save(tmp_path / "run.gif"), "path: expected a name that ends in .html, .mcap or .npz"),
    ]:
        with pytest.raises(ft.Error) as caught:
            work()
        assert says in str(caught.value), str(caught.value)
    with pytest.raises(OSError, match="nowhere"):
        ft.show(hand, rolled).save(tmp_path / "nowhere" / "run.html")


def test_a_browser_draws_it(run, tmp_path):
    """The frame of a notebook's cell, in a page as a notebook's is."""
    driver, browser = (shutil.which(name) for name in ("chromedriver", "chromium"))
    if driver is None or browser is None:
        pytest.skip("chromium and chromedriver are not both here")
    frame = ft.show(run)._repr_html_()
    assert frame.startswith('<iframe srcdoc="') and unescape(frame.split('"')[1]) == ft.show(run).html(2_000_000)
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><body style='margin: 20px'><p>In [1]: ft.show(run)</p>{frame}</body>")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def call(place, body=None, method="POST"):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{port}{place}", data, {"Content-Type": "application/json"}, method=method)
        return json.loads(urllib.request.urlopen(asked, timeout=60).read())["value"]

    def wait(what):
        end = time.monotonic() + 40
        while True:
            try:
                if value := what():
                    return value
            except OSError:
                assert time.monotonic() < end
            assert time.monotonic() < end, what
            time.sleep(0.05)

    flags = ["--headless=new", "--no-sandbox", "--enable-unsafe-swiftshader", "--no-first-run", "--disable-dev-shm-usage"]
    flags += ["--window-size=1100,800", f"--user-data-dir={tmp_path / 'profile'}"]
    options = {"binary": browser, "args": flags}
    try:
        wait(lambda: call("/status", method="GET")["ready"])
        asked = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        session = f"/session/{call('/session', asked)['sessionId']}"
        script = lambda text: call(f"{session}/execute/sync", {"script": text, "args": []})
        call(f"{session}/url", {"url": page.as_uri()})
        call(f"{session}/frame", {"id": 0})
        wait(lambda: script("return Boolean(window.fingertip && fingertip.track.length > 0)"))
        assert script("return fingertip.track.length") == 101
        # Half way: the ball has left its place on the table.
        script("fingertip.refresh()")
        time.sleep(1.0)
        call(f"{session}/frame", {"id": None})
        picture = base64.b64decode(call(f"{session}/screenshot", method="GET"))
        assert len(picture) > 20_000, "an empty picture is smaller"
        if folder := os.environ.get("FINGERTIP_SCREENSHOTS"):
            with open(os.path.join(folder, "notebook.png"), "wb") as file:
                file.write(picture)
        call(session, method="DELETE")
    finally:
        process.kill()
        process.wait()


def test_a_page_beside_a_loop(hand, sim, capsys):
    """The page has the newest state, as it was given; a loop is not held up; and all ends with the block."""
    q = hand.home()
    with ft.live(sim, browse=False) as view:
        assert view.url in capsys.readouterr().err and view.url in repr(view)
        begin = time.perf_counter()
        for k in range(1000):
            q[0] = 1e-3 * k
            view.show(q, hand.control(0.0), time=0.01 * k)
        # A frame takes a millisecond or so, a call some microseconds.
        assert time.perf_counter() - begin < 1.0
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            page = urllib.request.urlopen(view.url).read().decode()
            rows, layout = frames(page)
            if np.isclose(rows[-1, layout["time"]], 9.99):
                break
        assert np.allclose(rows[-1, layout["q"] : layout["q"] + hand.nq], q, atol=1e-6)
        assert np.allclose(rows[-1, layout["u"] : layout["u"] + hand.nu], hand.control(0.0), atol=1e-6)
        assert header(page)["live"]["mirror"] is True and header(page)["live"]["controls"] == []
        with pytest.raises(ft.Error, match=r"q: expected"):
            view.show(q[1:])
        with pytest.raises(ft.Error, match="q: expected finite numbers, got NaN"):
            view.show(np.full(hand.nq, np.nan))
    with pytest.raises(ft.Error, match="expected a page that is open"):
        view.show(q)
    with pytest.raises(OSError):
        urllib.request.urlopen(view.url, timeout=5)
    with pytest.raises(ft.Error, match="live: expected a step, a model, a scene or a task, got int"):
        ft.live(3)
