"""Hands that follow keypoints: files and arrays, frame by frame, another hand, and what cannot be followed."""

import numpy as np
import pytest
from conftest import ROOT

import fingertip as ft

HUMAN = ROOT / "assets/recorded/human_hand.csv"


@pytest.fixture(scope="module")
def model():
    return ft.Model.load("allegro_plate")


@pytest.fixture(scope="module")
def found(model):
    return ft.follow(model, HUMAN)


def test_follow(model, found):
    assert found.u.shape == (241, model.nu) and found.q.shape == (241, model.nq) and found.keypoints.shape == (241, 21, 3)
    assert found.errors.shape == (241, 7) and found.targets == ["thumb", "index", "middle", "ring", *(f"thumb-{f}" for f in ("index", "middle", "ring"))]
    assert (np.nanmean(found.errors, 0) < 0.02).all() and found.least_gap > 0 and found.seconds.shape == (241,)
    assert found.time[-1] == pytest.approx(8.0) and (found.scales > 0).all() and "hand/thumb_0" in found.at_limits
    assert (np.array(list(found.at_limits.values())) <= 241).all() and "mm off in the mean" in repr(found)
    assert np.array_equal(found.u, found.q[:, [model.joint(name).q.start for name in model.u_names]])


def test_an_array_is_the_same(model, found):
    other = ft.follow(model, found.keypoints, rate=30.0)
    assert np.abs(other.u - found.u).max() < 0.05 and np.array_equal(other.keypoints, found.keypoints)


def test_frame_by_frame(model, found):
    follower = ft.Follower(model, margin=None, smooth=0.0)
    u = follower.step(found.keypoints[0], 1 / 30)
    assert u.shape == (model.nu,) and follower.q.shape == (model.nq,) and follower.gap is None and follower.iterations > 0
    assert follower.errors.shape == (7,) and follower.targets == found.targets
    follower.reset()
    assert np.array_equal(follower.step(found.keypoints[0], 1 / 30), u)
    follower.reset(model.home())
    lost = found.keypoints[1].copy()
    lost[8] = np.nan
    follower.step(lost, 1 / 30)
    assert np.isnan(follower.errors[1])


def test_map_and_another_hand(model, found, tmp_path):
    table = tmp_path / "map.toml"
    table.write_text('keypoints = ["a"]\n[[position]]\nlink = "hand/index_tip"\nkeypoint = "a"\n')
    at = model.body_poses(model.home(), ["hand/index_tip"])[0][0]
    one = ft.follow(model, np.repeat((at + [0.01, 0, 0])[None, None], 3, 0), table, smooth=0.0)
    assert one.errors.max() < 1e-5 and one.targets == ["a"]
    log = tmp_path / "log.csv"
    rows = [",".join(map(str, [k / 30, *u])) for k, u in enumerate(found.u[:40])]
    log.write_text("\n".join([",".join(["time", *model.u_names]), *rows]))
    other = ft.follow(ft.Model.load("leap_cube"), log, of=model)
    assert other.u.shape == (40, 16) and other.keypoints.shape == (40, 17, 3)


# What is done, and what its message says.
CASES = {
    "no fingers": (lambda it: ft.Follower(ft.Model.load("push")), "fingers: expected links named after fingers"),
    "too few": (lambda it: it.follower.step(it.frame[:20], 0.1), "keypoints: expected 21 of them, got 20"),
    "flat": (lambda it: it.follower.step(it.frame[:, :2], 0.1), "keypoints: expected shape (keypoints, 3), got (21, 2)"),
    "infinite": (lambda it: it.follower.step(np.full((21, 3), np.inf), 0.1), "keypoints: expected finite numbers, or NaN"),
    "dt": (lambda it: it.follower.step(it.frame, -1.0), "dt: expected a positive time in s, got -1"),
    "q": (lambda it: it.follower.reset(np.zeros(3)), "q: expected "),
    "one frame": (lambda it: ft.follow(it.model, it.frame), "motion: expected shape (frames, keypoints, 3), got (21, 3)"),
    "no frames": (lambda it: ft.follow(it.model, it.frame[None][:0]), "motion: expected at least one frame"),
    "rate": (lambda it: ft.follow(it.model, it.frame[None], rate=0.0), "rate: expected a positive frequency in Hz, got 0"),
    "rate of a file": (lambda it: ft.follow(it.model, HUMAN, rate=-1.0), "rate: expected a positive frequency in Hz, got -1"),
    "an array of a hand": (lambda it: ft.follow(it.model, it.frame[None], of=it.model), "of: expected a motion's file"),
    "scale": (lambda it: ft.Follower(it.model, scale=0.0), 'target "thumb": scale: expected a positive number, got 0'),
    "smooth": (lambda it: ft.Follower(it.model, smooth=np.nan), "smooth: expected a number that is not negative, got NaN"),
    "margin": (lambda it: ft.Follower(it.model, margin=-1.0), "margin: expected a number that is not negative, got -1"),
    "cutoff": (lambda it: ft.Follower(it.model, cutoff=0.0), "cutoff: expected a positive frequency in Hz, got 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name, model, found):
    class It:
        pass

    It.model, It.frame, It.follower = model, found.keypoints[0], ft.Follower(model)
    do, expected = CASES[name]
    with pytest.raises(ft.Error) as error:
        do(It)
    assert expected in str(error.value)


def test_no_such_file(model, tmp_path):
    for arguments in [("nowhere.csv",), (HUMAN, "nowhere.toml")]:
        with pytest.raises(FileNotFoundError):
            ft.follow(model, *arguments)
