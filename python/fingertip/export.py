"""Recordings as data sets that learning reads: LeRobot's format and HDF5.

    export.to_lerobot([fingertip.mpc.run(task, episode=i) for i in range(50)], "turn", task="turn the ball")
    export.to_hdf5(["a.mcap", "b.mcap"], "demos.hdf5", every=5)

    python -m fingertip.export a.mcap b.mcap --lerobot turn --hdf5 demos.hdf5 --every 5

An episode is a recording's file (`*.mcap`), a `Replay`, which `fingertip.show` makes of any rollout, or a `Run`. A frame is a state,
with what was felt in the step that ended there and with the command that was given there; the last state has no command and is no
frame. docs/logs.md of the repository has a table of all features.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._fingertip import Error, Replay, __version__
from ._show import show
from .cluster import arrow_column
from .mpc import Run

__all__ = ["Episode", "Feature", "main", "read", "to_hdf5", "to_lerobot"]

Source: TypeAlias = Replay | Run | str | os.PathLike[str]
Array: TypeAlias = NDArray[np.float64]

# LeRobot's own defaults: how much is in a Parquet file, and how many files are in a folder.
_FILE_MB, _FILES_OF_CHUNK = 100, 1000
_PLACE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"


@dataclass(frozen=True, eq=False)
class Feature:
    """Numbers of all frames."""

    rows: Array
    """A row for each frame (n, width)."""
    names: tuple[str, ...]
    """What each number of a row is (width)."""
    units: tuple[str, ...]
    """Its unit: `"m"`, `"rad"`, `"N"`, or `"1"` in quaternions."""

    def pick(self, columns: Sequence[int]) -> Feature:
        """Some of the numbers."""
        names, units = ([of[i] for i in columns] for of in (self.names, self.units))
        return Feature(self.rows[:, columns], tuple(names), tuple(units))


@dataclass(frozen=True, eq=False)
class Episode:
    """An episode of n frames."""

    rate: float
    """Frames per second."""
    action: Feature
    """The command that is given at each frame (n rows), as `u_names`."""
    observations: Mapping[str, Feature]
    """What is known at each frame, and where the last command led (n + 1 rows): `"state"`, the commanded joints' q;
    `"environment_state"`, all other q: poses of objects, and joints without command; `"force"`, the net contact force on each body that
    may touch something, in world axes. What a scene does not have is not there. At a recording's start nothing has been felt: the
    forces are zero."""


def read(source: Source, every: int = 1) -> Episode:
    """An episode with a frame at each `every`-th step: `task.hold` makes frames of control periods."""
    if every < 1:
        raise Error(f"every: expected at least 1, got {every}")
    name, arrays = _arrays(source)
    n = (len(arrays["time"]) - 1) // every
    if n < 1:
        raise Error(f"{name}: expected {every} steps at least, got {len(arrays['time']) - 1}")
    # States at the frames, and the steps that begin there: a row of the arrays is what ends at a step's end.
    states = np.arange(n + 1) * every
    begins = states[:-1] + 1
    times = arrays["time"][states]
    spacing = np.diff(times)
    if np.abs(spacing - spacing.mean()).max() > 1e-6:
        raise Error(f"{name}: expected frames at equal distances in time, got from {spacing.min():.6g} s to {spacing.max():.6g} s")
    if len(arrays["q_units"]) != len(arrays["q_names"]):
        raise Error(f"{name}: expected a recording with units of q and u; record it again with this version ({__version__})")
    q, action = _named(arrays, "q", states), _named(arrays, "u", begins)
    joints = [q.names.index(joint) for joint in action.names]
    others = sorted(set(range(len(q.names))) - set(joints))
    observations = {"state": q.pick(joints), "environment_state": q.pick(others), "force": _forces(arrays, states)}
    present = {key: feature for key, feature in observations.items() if feature.names}
    # Steps are whole nanoseconds in a file.
    return Episode(round(float(1.0 / spacing.mean()), 6), action, present)


def _arrays(source: Source) -> tuple[str, dict[str, Any]]:
    """An episode's name for messages, and the arrays of its recording: see crates/show/docs/recordings.md."""
    name = str(source)
    if isinstance(source, Run):
        source = show(source)
    elif isinstance(source, str | os.PathLike):
        source = Replay.load(source)
    elif not isinstance(source, Replay):
        raise Error(f"episode: expected a recording's file, a Replay or a Run, got {type(source).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        source.save(path)
        with np.load(path) as arrays:
            return name, dict(arrays)


def _named(arrays: Mapping[str, Any], name: str, rows: NDArray[np.int64]) -> Feature:
    """Some rows of q or u."""
    names, units = (tuple(arrays[f"{name}_{of}"].tolist()) for of in ("names", "units"))
    return Feature(arrays[name][rows], names, units)


def _forces(arrays: Mapping[str, Any], states: NDArray[np.int64]) -> Feature:
    """Sums of the contacts' forces on their bodies."""
    # Of `B<A#3`, what A does to B in contact 3.
    sides = [contact.rsplit("#", 1)[0].split("<") for contact in arrays["contact_names"].tolist()]
    bodies = sorted({body for pair in sides for body in pair})
    # A force acts on B, and its opposite on A.
    sign = np.array([[float(b == body) - float(a == body) for b, a in sides] for body in bodies]).reshape(len(bodies), -1)
    net = np.einsum("bc,ncx->nbx", sign, arrays["force"][states])
    net[states == 0] = 0.0
    names = tuple(f"{body}.{axis}" for body in bodies for axis in "xyz")
    return Feature(net.reshape(len(states), -1), names, ("N",) * len(names))


def _all(episodes: Source | Iterable[Source], task: str | Sequence[str], every: int) -> list[tuple[Episode, str]]:
    """The episodes and their tasks, all with the same features."""
    sources: list[Source] = [episodes] if isinstance(episodes, Replay | Run | str | os.PathLike) else list(episodes)
    if not sources:
        raise Error("episodes: expected one at least, got none")
    tasks = [task] * len(sources) if isinstance(task, str) else list(task)
    if len(tasks) != len(sources):
        raise Error(f"task: expected one text, or one for each of {len(sources)} episodes, got {len(tasks)}")
    made = [read(source, every) for source in sources]
    first = made[0]
    for number, one in enumerate(made):
        if abs(one.rate - first.rate) > 1e-6:
            raise Error(f"episode {number}: expected {first.rate} frames/s as in episode 0, got {one.rate}")
        if {key: of.names for key, of in one.observations.items()} != {key: of.names for key, of in first.observations.items()}:
            raise Error(f"episode {number}: expected the coordinates and bodies of episode 0, got others")
    return list(zip(made, tasks, strict=True))


def _library(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        comes = f"which comes with the extra {extra}: pip install './python[{extra}]'"
        raise Error(f"expected the package {package}, {comes} ({error})") from error


def to_hdf5(
    episodes: Source | Iterable[Source],
    path: str | os.PathLike[str],
    *,
    task: str | Sequence[str] = "",
    every: int = 1,
) -> None:
    """Writes episodes to an HDF5 file as robomimic lays it out, in double precision: `data/demo_0/actions`, `dones`, `obs/state` and the
    other observations, the same at the next frame in `next_obs`, and so on for `demo_1`, …; the attributes of each data set are its
    `names` and `units`. A file that is there is replaced. It needs `h5py`, the extra `hdf5`."""
    h5py = _library("h5py", "hdf5")
    made = _all(episodes, task, every)
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = sum(len(one.action.rows) for one, _ in made)
        data.attrs["fps"] = made[0][0].rate
        data.attrs["env_args"] = json.dumps({"env_name": "fingertip", "env_version": __version__, "env_kwargs": {}})
        for number, (one, about) in enumerate(made):
            n = len(one.action.rows)
            demo = data.create_group(f"demo_{number}")
            demo.attrs["num_samples"], demo.attrs["task"] = n, about
            demo["dones"] = (np.arange(n) == n - 1).astype(np.int64)
            written = [("actions", one.action, slice(None))]
            for group, rows in (("obs", slice(0, n)), ("next_obs", slice(1, None))):
                written += [(f"{group}/{key}", of, rows) for key, of in one.observations.items()]
            for place, feature, rows in written:
                demo[place] = feature.rows[rows]
                demo[place].attrs["names"], demo[place].attrs["units"] = list(feature.names), list(feature.units)


def to_lerobot(
    episodes: Source | Iterable[Source],
    folder: str | os.PathLike[str],
    *,
    task: str | Sequence[str] = "",
    every: int = 1,
    robot: str | None = None,
) -> None:
    """Writes episodes to a new folder as a LeRobot data set, version 3.0, in single precision as LeRobot's own:
    `LeRobotDataset("NAME", root=folder)` reads it. `task` says in words what is done, in all episodes or in each; `robot` is the
    `robot_type`. There are no pictures. It needs `pyarrow`, the extra `dataset`."""
    arrow, parquet = _library("pyarrow", "dataset"), _library("pyarrow.parquet", "dataset")
    made, root = _all(episodes, task, every), Path(folder)
    if root.exists() and any(root.iterdir()):
        raise Error(f"{root}: expected a new or an empty folder, found files")
    tasks = list(dict.fromkeys(about for _, about in made))

    def write(table: Any, kind: str, file: int = 0) -> None:
        path = root / kind / _PLACE.format(chunk_index=file // _FILES_OF_CHUNK, file_index=file % _FILES_OF_CHUNK)
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, path)

    rows: list[dict[str, Any]] = []
    tables: list[Any] = []
    begin, file = 0, 0
    for number, (one, about) in enumerate(made):
        n = len(one.action.rows)
        columns: dict[str, NDArray[Any]] = {key: of.rows[:n].astype(np.float32) for key, of in _features(one).items()}
        columns["timestamp"] = (np.arange(n) / one.rate).astype(np.float32)[:, None]
        frames = {"frame_index": np.arange(n), "episode_index": np.full(n, number), "index": begin + np.arange(n)}
        columns |= {key: of[:, None] for key, of in (frames | {"task_index": np.full(n, tasks.index(about))}).items()}
        table = arrow.table({key: arrow_column(of[:, 0] if of.shape[1] == 1 else of) for key, of in columns.items()})
        if tables and sum(other.nbytes for other in tables) + table.nbytes > 1e6 * _FILE_MB:
            write(arrow.concat_tables(tables), "data", file)
            tables, file = [], file + 1
        tables.append(table)
        row = {"episode_index": number, "tasks": [about], "length": n}
        row |= {"data/chunk_index": file // _FILES_OF_CHUNK, "data/file_index": file % _FILES_OF_CHUNK}
        row |= {"dataset_from_index": begin, "dataset_to_index": begin + n, "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
        for key, of in columns.items():
            row |= {f"stats/{key}/{name}": value.tolist() for name, value in _statistics(of).items()}
        rows.append(row)
        begin += n
    write(arrow.concat_tables(tables), "data", file)
    write(arrow.Table.from_pylist(rows), "meta/episodes")
    # LeRobot finds a task by its text, which is pandas' index because of this note.
    index = arrow.table({"task_index": np.arange(len(tasks)), "task": tasks})
    kinds = {"task_index": ("int64", "int64"), "task": ("unicode", "object")}
    columns_of = [
        {"name": name, "field_name": name, "pandas_type": of, "numpy_type": numpy, "metadata": None} for name, (of, numpy) in kinds.items()
    ]
    note = {"index_columns": ["task"], "column_indexes": [], "columns": columns_of, "pandas_version": "2.0.0"}
    parquet.write_table(index.replace_schema_metadata({"pandas": json.dumps(note)}), root / "meta" / "tasks.parquet")

    described: dict[str, Any] = {
        key: {"dtype": "float32", "shape": [len(of.names)], "names": list(of.names), "units": list(of.units)}
        for key, of in _features(made[0][0]).items()
    }
    described["timestamp"] = {"dtype": "float32", "shape": [1], "names": None, "units": ["s"]}
    for key in ("frame_index", "episode_index", "index", "task_index"):
        described[key] = {"dtype": "int64", "shape": [1], "names": None}
    rate = made[0][0].rate
    info = {
        "codebase_version": "v3.0",
        "robot_type": robot,
        "total_episodes": len(made),
        "total_frames": begin,
        "total_tasks": len(tasks),
        "chunks_size": _FILES_OF_CHUNK,
        "data_files_size_in_mb": _FILE_MB,
        "video_files_size_in_mb": 200,
        "fps": int(rate) if rate.is_integer() else rate,
        "splits": {"train": f"0:{len(made)}"},
        "data_path": f"data/{_PLACE}",
        "video_path": None,
        "features": described,
    }
    statistics = {key: _joined(rows, key) for key in described}
    for name, content in (("info", info), ("stats", statistics)):
        (root / "meta" / f"{name}.json").write_text(json.dumps(content, indent=4, ensure_ascii=False))


def _features(episode: Episode) -> dict[str, Feature]:
    return {f"observation.{key}": of for key, of in episode.observations.items()} | {"action": episode.action}


def _statistics(rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """What LeRobot scales numbers by, of the rows (n, width)."""
    numbers = rows.astype(np.float64)
    ends = {"min": numbers.min(0), "max": numbers.max(0)}
    return ends | {"mean": numbers.mean(0), "std": numbers.std(0), "count": np.array([len(rows)])}


def _joined(rows: list[dict[str, Any]], key: str) -> dict[str, list[float]]:
    """The statistics of all episodes' frames together, from those of each."""
    of = {name: np.array([row[f"stats/{key}/{name}"] for row in rows]) for name in ("min", "max", "mean", "std", "count")}
    share = of["count"] / of["count"].sum()
    mean = (share * of["mean"]).sum(0)
    variance = (share * (of["std"] ** 2 + (of["mean"] - mean) ** 2)).sum(0)
    whole = {"min": of["min"].min(0), "max": of["max"].max(0), "mean": mean, "std": np.sqrt(variance), "count": of["count"].sum(0)}
    return {name: value.tolist() for name, value in whole.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """The program `python -m fingertip.export`; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m fingertip.export", description="Recordings as data sets that learning reads.")
    parser.add_argument("recording", nargs="+", help="a recording, *.mcap: an episode")
    parser.add_argument("--lerobot", metavar="DIR", help="a new folder for a LeRobot data set, version 3.0")
    parser.add_argument("--hdf5", metavar="FILE", help="an HDF5 file as robomimic lays it out")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="a frame at each N-th step (1)")
    parser.add_argument("--task", default="", metavar="TEXT", help="what is done, in words")
    parser.add_argument("--robot", metavar="NAME", help="the robot's type, for LeRobot")
    given = parser.parse_args(arguments)
    if given.lerobot is None and given.hdf5 is None:
        parser.error("expected --lerobot DIR or --hdf5 FILE")
    try:
        if given.lerobot is not None:
            to_lerobot(given.recording, given.lerobot, task=given.task, every=given.every, robot=given.robot)
        if given.hdf5 is not None:
            to_hdf5(given.recording, given.hdf5, task=given.task, every=given.every)
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
