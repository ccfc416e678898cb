"""Recordings as data sets: what pyarrow, pandas' note, h5py and, where it is installed, LeRobot itself read again."""

import json
import subprocess
import sys

import numpy as np
import pytest

import fingertip as ft
from fingertip import export

TASK = "turn the ball"


@pytest.fixture(scope="module")
def runs():
    """Two episodes of an Allegro hand and a ball, of other lengths."""
    return [ft.mpc.run(ft.Task.load("allegro_ball").replace(cap=cap), episode=cap) for cap in (3, 5)]


@pytest.fixture(scope="module")
def model(runs):
    return runs[0].task.model


def joints(model):
    return [model.q_names.index(name) for name in model.u_names]


def of_body(model, force, name):
    """The net force on a body, from a step's contacts (n, nc, 3)."""
    sides = model.contact_names
    return sum(force[:, i] * ((b == name) - (a == name)) for i, (a, b) in enumerate(sides))


def test_an_episode(runs, model):
    run, hold = runs[1], runs[1].task.hold
    episode = export.read(run, every=hold)
    assert episode.rate == pytest.approx(1 / run.task.period)
    assert np.array_equal(episode.action.rows, run.u) and list(episode.action.names) == model.u_names
    state, others, force = (episode.observations[key] for key in ("state", "environment_state", "force"))
    assert np.array_equal(state.rows, run.q[:, joints(model)]) and set(state.units) == {"rad"}
    assert others.names == tuple(f"ball.{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz"))
    assert others.units == ("m",) * 3 + ("1",) * 4 and np.array_equal(others.rows, run.q[:, model.object("ball").q])
    # Felt is what the last step of each period says; files have forces to 1e-9.
    at = force.names.index("ball.x")
    assert np.allclose(force.rows[1:, at : at + 3], of_body(model, run.force[hold - 1 :: hold], "ball"), atol=1e-8)
    assert not force.rows[0].any() and np.abs(force.rows[1:]).max() > 0.1 and set(force.units) == {"N"}
    # Each step is a frame, and the command is that of the step that begins there.
    fine = export.read(ft.show(run))
    assert fine.rate == pytest.approx(hold / run.task.period) and np.array_equal(fine.action.rows[::hold], run.u)
    assert np.array_equal(fine.action.rows[hold - 1 :: hold], run.u)


def test_files_and_joints_that_slide(hand, sim, tmp_path):
    u = hand.control(0.01 * np.arange(20))
    path = tmp_path / "a.mcap"
    ft.show(hand, sim.rollout(hand.home(), u), u=u).save(path)
    episode = export.read(path)
    assert episode.action.units == ("m",) + ("rad",) * 20 and np.array_equal(episode.action.rows, u)
    assert episode.observations["environment_state"].names == ("ball.x", "ball.y", "ball.z")
    # A frame's command is the one that was given there, also where others came before the next frame.
    assert np.array_equal(export.read(path, every=5).action.rows, u[::5])
    # What was read is what was written.
    again = ft.Replay.load(path)
    assert again.n_steps == 20 and again.html() == ft.Replay.load(path).html()
    arm = ft.Scene().robot("hand", urdf="../robots/leap16.urdf").model()
    alone = export.read(ft.show(arm, np.linspace(arm.home(), arm.home() + 0.1, 5)))
    assert set(alone.observations) <= {"state", "force"}


def test_hdf5(runs, model, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "demos.hdf5"
    export.to_hdf5(runs, path, task=[TASK, "again"], every=runs[0].task.hold)
    with h5py.File(path) as file:
        data = file["data"]
        assert sorted(data) == ["demo_0", "demo_1"] and data.attrs["total"] == 8 and data.attrs["fps"] == pytest.approx(10.0)
        assert json.loads(data.attrs["env_args"])["env_name"] == "fingertip"
        for number, run in enumerate(runs):
            demo, n = data[f"demo_{number}"], len(run.u)
            assert demo.attrs["num_samples"] == n and demo.attrs["task"] == [TASK, "again"][number]
            assert np.array_equal(demo["actions"], run.u) and demo["dones"][()].tolist() == [0] * (n - 1) + [1]
            assert np.array_equal(demo["obs/state"], run.q[:-1, joints(model)])
            assert np.array_equal(demo["next_obs/state"], run.q[1:, joints(model)])
            assert demo["obs/environment_state"].attrs["names"].tolist()[:2] == ["ball.x", "ball.y"]
            assert demo["obs/environment_state"].attrs["units"].tolist() == ["m"] * 3 + ["1"] * 4


@pytest.fixture(scope="module")
def dataset(runs, tmp_path_factory):
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("lerobot") / "turn"
    export.to_lerobot(runs, folder, task=[TASK, "again"], every=runs[0].task.hold, robot="allegro")
    return folder


def test_lerobot_by_pyarrow(runs, model, dataset):
    import pyarrow.parquet as parquet

    info = json.loads((dataset / "meta" / "info.json").read_text())
    assert (info["codebase_version"], info["robot_type"], info["fps"]) == ("v3.0", "allegro", 10)
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (2, 8, 2)
    assert info["features"]["action"]["names"] == model.u_names and info["features"]["action"]["units"] == ["rad"] * 16
    frames = parquet.read_table(dataset / info["data_path"].format(chunk_index=0, file_index=0))
    assert set(frames.column_names) == set(info["features"])
    whole = np.concatenate([run.u for run in runs]).astype(np.float32)
    assert np.array_equal(np.array(frames["action"].to_pylist(), np.float32), whole)
    states = np.concatenate([run.q[:-1, joints(model)] for run in runs]).astype(np.float32)
    assert np.array_equal(np.array(frames["observation.state"].to_pylist(), np.float32), states)
    assert frames["episode_index"].to_pylist() == [0] * 3 + [1] * 5 == frames["task_index"].to_pylist()
    assert frames["frame_index"].to_pylist() == [0, 1, 2, 0, 1, 2, 3, 4] and frames["index"].to_pylist() == list(range(8))
    assert np.allclose(frames["timestamp"].to_pylist(), 0.1 * np.array([0, 1, 2, 0, 1, 2, 3, 4]), atol=1e-6)
    episodes = parquet.read_table(dataset / "meta" / "episodes").to_pylist()
    assert [(one["length"], one["dataset_from_index"], one["dataset_to_index"]) for one in episodes] == [(3, 0, 3), (5, 3, 8)]
    assert [one["tasks"] for one in episodes] == [[TASK], ["again"]]
    # Joined from those of the episodes, the statistics are those of all frames.
    stats = json.loads((dataset / "meta" / "stats.json").read_text())["action"]
    assert stats["count"] == [8] and np.allclose(stats["mean"], whole.mean(0, np.float64), atol=1e-6)
    assert np.allclose(stats["std"], whole.std(0, np.float64), atol=1e-6) and np.allclose(stats["max"], whole.max(0))


def test_lerobot_tasks_by_pandas(dataset):
    pandas = pytest.importorskip("pandas")
    tasks = pandas.read_parquet(dataset / "meta" / "tasks.parquet")
    assert tasks.loc["again"].task_index == 1 and list(tasks.columns) == ["task_index"]


def test_lerobot_by_itself(runs, model, dataset):
    lerobot = pytest.importorskip("lerobot.datasets.lerobot_dataset")
    own = lerobot.LeRobotDataset("local/turn", root=dataset, delta_timestamps={"action": [0.0, 0.1]})
    assert (len(own), own.num_episodes, own.fps) == (8, 2, 10)
    frame = own[4]
    assert frame["task"] == "again" and frame["action"].shape == (2, 16)
    assert np.array_equal(frame["action"].numpy(), runs[1].u[1:3].astype(np.float32))
    assert np.array_equal(frame["observation.state"].numpy(), runs[1].q[1, joints(model)].astype(np.float32))
    assert own.meta.stats["observation.force"]["mean"].shape == frame["observation.force"].shape


def test_files_are_cut_at_their_size(runs, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(export, "_FILE_MB", 1e-3)
    monkeypatch.setattr(export, "_FILES_OF_CHUNK", 2)
    export.to_lerobot([runs[0], runs[1], runs[0]], tmp_path, every=runs[0].task.hold)
    places = sorted(str(path.relative_to(tmp_path / "data")) for path in (tmp_path / "data").rglob("*.parquet"))
    assert places == ["chunk-000/file-000.parquet", "chunk-000/file-001.parquet", "chunk-001/file-000.parquet"]
    episodes = parquet.read_table(tmp_path / "meta" / "episodes").to_pylist()
    assert [(one["data/chunk_index"], one["data/file_index"]) for one in episodes] == [(0, 0), (0, 1), (1, 0)]
    assert parquet.read_table(tmp_path / "data" / places[2])["episode_index"].to_pylist() == [2] * 3


def test_the_program(runs, tmp_path):
    pytest.importorskip("h5py")
    ft.show(runs[0]).save(tmp_path / "a.mcap")
    command = [sys.executable, "-m", "fingertip.export", "a.mcap", "--hdf5", "a.hdf5"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "a.hdf5").exists()
    done = subprocess.run([*command, "--every", "100"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1 and done.stderr == "error: a.mcap: expected 100 steps at least, got 15\n"


def test_what_cannot_be_exported(runs, model, hand, tmp_path, monkeypatch):
    still, cube = np.tile(hand.home(), (4, 1)), np.tile(model.home(), (4, 1))
    ball, slow, other = ft.show(hand, still), ft.show(hand, still, time=np.arange(4)), ft.show(model, cube, time=0.01 * np.arange(4))
    uneven = ft.show(model, cube, time=[0.0, 0.1, 0.3, 0.4])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "text.mcap").write_text("no recording")
    for work, says in [
        (lambda: export.read(runs[0], every=0), "every: expected at least 1, got 0"),
        (lambda: export.read(uneven), "expected frames at equal distances in time, got from 0.1 s to 0.2 s"),
        (lambda: export.read(3), "episode: expected a recording's file, a Replay or a Run, got int"),
        (lambda: export.read(tmp_path / "text.mcap"), "text.mcap"),
        (lambda: export.to_hdf5([], tmp_path / "a"), "episodes: expected one at least, got none"),
        (lambda: export.to_hdf5(runs, tmp_path / "a", task=["turn"]), "task: expected one text, or one for each of 2 episodes, got 1"),
        (lambda: export.to_hdf5([ball, slow], tmp_path / "a"), "episode 1: expected 100.0 frames/s as in episode 0, got 1.0"),
        (lambda: export.to_hdf5([ball, other], tmp_path / "a"), "episode 1: expected the coordinates and bodies of episode 0, got others"),
        (lambda: export.to_lerobot(runs, tmp_path / "full"), "expected a new or an empty folder, found files"),
    ]:
        with pytest.raises(ft.Error) as caught:
            work()
        assert says in str(caught.value), str(caught.value)
    with pytest.raises(OSError, match="nowhere"):
        export.read("nowhere.mcap")
    # Without the libraries the message names what to install.
    for name, extra, write in [("h5py", "hdf5", export.to_hdf5), ("pyarrow", "dataset", export.to_lerobot)]:
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ft.Error, match=f"expected the package {name}, which comes with the extra {extra}: pip install"):
            write(runs, tmp_path / "b")
