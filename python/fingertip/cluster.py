"""Many worlds on many processes or machines, with results that do not depend on how many there are.

    def work(chunk):  # a function of the worlds with these ids
        q = model.home(len(chunk)) + 1e-3 * chunk.normal(model.nq)
        return {"height": sim.rollout(q, u(chunk)).q[:, -1, 2]}

    cluster.total(work, 1_000_000, on="ray")  # sums over all worlds

Worlds are cut into chunks by their ids, and each draws from a stream that the seed and its id give. Sums are made in one order, a
binary tree over the ids. So the bits of a result depend neither on the chunks, nor on the number of workers, nor on one that dies and
whose chunks another computes again.

`on` says where: None, in this process; a number of processes on this machine; or `"ray"`, on the cluster that Ray is connected to. Work
for other processes must pickle: a function of a module, or `functools.partial` of one with models and arrays. Ray takes any function of
the program itself, too; modules must be there on each machine.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._fingertip import Error, Task
from .mpc import Plant, run

__all__ = ["Case", "Chunk", "Fit", "Sums", "chunks", "dataset", "each", "gauss_newton", "sweep", "total"]

_Array: TypeAlias = NDArray[np.float64]
_Work: TypeAlias = Callable[["Chunk"], Any]
_Progress: TypeAlias = bool | Callable[[int, int], Any]


@dataclasses.dataclass(frozen=True)
class Chunk:
    """The worlds with the ids `first`, …, `first` + `count` − 1."""

    first: int
    """The first world's id."""
    count: int
    """The number of worlds."""
    seed: int = 0
    """The seed of all worlds."""
    threads: int = 1
    """The processors that the chunk may use: for `Quasidynamic(model, threads=chunk.threads)`."""

    def __len__(self) -> int:
        return self.count

    @property
    def worlds(self) -> NDArray[np.int64]:
        """The worlds' ids (count,)."""
        return np.arange(self.first, self.first + self.count)

    def generators(self) -> Iterator[np.random.Generator]:
        """A generator for each world: a stream that the seed and the world's id give."""
        for world in range(self.first, self.first + self.count):
            yield np.random.Generator(np.random.Philox(key=(self.seed << 64) + world))

    def uniform(self, n: int, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> _Array:
        """`n` numbers from `low` to `high` for each world (count, n), from the beginning of its stream."""
        drawn: _Array = np.array([generator.random(n) for generator in self.generators()])
        lowest, highest = np.asarray(low, np.float64), np.asarray(high, np.float64)
        return lowest + (highest - lowest) * drawn

    def normal(self, n: int) -> _Array:
        """`n` normally distributed numbers for each world (count, n), from the beginning of its stream."""
        return np.array([generator.standard_normal(n) for generator in self.generators()])


def chunks(n: int, size: int = 1000, seed: int = 0, threads: int = 1) -> list[Chunk]:
    """`n` worlds in chunks of `size`."""
    for name, given in (("n", n), ("size", size), ("threads", threads)):
        if given < 1:
            raise Error(f"{name}: expected at least 1, got {given}")
    if not 0 <= seed < 2**64:
        raise Error(f"seed: expected a number from 0 to 2⁶⁴ − 1, got {seed}")
    return [Chunk(first, min(size, n - first), seed, threads) for first in range(0, n, size)]


class Sums:
    """Sums of arrays over worlds in an order that the worlds' ids give: pairs of worlds, pairs of pairs, and so on. `Sums.of` has those
    of a chunk, `+` joins those of two, and `total` is the sum of all. A chunk's are as few as its length has binary digits."""

    def __init__(self, blocks: dict[tuple[int, int], dict[str, _Array]]) -> None:
        # Of the worlds from i 2^k to (i + 1) 2^k − 1, by (k, i).
        self._blocks = blocks

    @classmethod
    def of(cls, first: int, rows: Mapping[str, ArrayLike]) -> Sums:
        """Of arrays by name, with a row for each world from the id `first` on."""
        arrays = {name: np.asarray(of, np.float64) for name, of in rows.items()}
        counts = {name: len(of) for name, of in arrays.items()}
        if not counts or len(set(counts.values())) > 1:
            raise Error(f"rows: expected as many in each array, at least one array, got {counts}")
        level, blocks = 0, {}
        end = first + next(iter(counts.values()))
        while first < end:
            # What has no sibling in here stays for `total`, the rest is added in pairs.
            if first % 2:
                blocks[level, first] = {name: of[0] for name, of in arrays.items()}
                arrays, first = {name: of[1:] for name, of in arrays.items()}, first + 1
            if end % 2 and first < end:
                blocks[level, end - 1] = {name: of[-1] for name, of in arrays.items()}
                arrays, end = {name: of[:-1] for name, of in arrays.items()}, end - 1
            arrays = {name: of[0::2] + of[1::2] for name, of in arrays.items()}
            level, first, end = level + 1, first // 2, end // 2
        return cls(blocks)

    def __add__(self, other: Sums) -> Sums:
        blocks = dict(self._blocks)
        for (level, i), block in other._blocks.items():
            while (sibling := blocks.pop((level, i ^ 1), None)) is not None:
                left, right = (sibling, block) if i % 2 else (block, sibling)
                level, i, block = level + 1, i // 2, {name: left[name] + right[name] for name in left}
            blocks[level, i] = block
        return Sums(blocks)

    @property
    def total(self) -> dict[str, _Array]:
        """The sums over all worlds, by name."""
        made: dict[str, _Array] = {}
        # Without gaps in the ids, the blocks that are left are the smaller the larger their ids.
        for _, block in sorted(self._blocks.items()):
            made = {name: block[name] + made[name] for name in block} if made else block
        return made


def each(
    work: _Work,
    n: int,
    *,
    size: int = 1000,
    seed: int = 0,
    on: int | str | None = None,
    threads: int = 1,
    retries: int = 3,
    progress: _Progress = False,
) -> Iterator[tuple[Chunk, Any]]:
    """What `work` makes of each chunk of `n` worlds, in the order in which chunks are done: `size` worlds each. A chunk uses so many
    `threads`, which Ray and the number of processes reckon with. Where a worker dies, its chunks are computed again, up to so many `retries`;
    what `work` raises is raised. `progress` is called with the numbers of chunks that are done and of all, or prints them if it is True."""
    return _done(work, chunks(n, size, seed, threads), on, retries, progress)


def total(work: _Work, n: int, **options: Any) -> dict[str, _Array]:
    """Sums over `n` worlds of what `work` makes: arrays by name with a row for each world of a chunk. The bits depend on the seed alone.
    `options` are those of `each`. What goes to this process are sums, a few for each chunk and not a row for each world."""
    sums = Sums({})
    for _, of_chunk in each(functools.partial(_summed, work), n, **options):
        sums += of_chunk
    return sums.total


def _summed(work: _Work, chunk: Chunk) -> Sums:
    return Sums.of(chunk.first, work(chunk))


@dataclasses.dataclass(frozen=True)
class Fit:
    """What `gauss_newton` finds."""

    p: _Array
    """The parameters (k,)."""
    cost: float
    """½ Σ ‖r‖² over all worlds at p."""
    costs: tuple[float, ...]
    """The cost at the start and after each iteration."""
    covariance: _Array
    """(JᵀJ)⁻¹ at p (k, k): times the residuals' variance, that of p."""


def gauss_newton(
    residuals: Callable[[_Array, Chunk], tuple[ArrayLike, ArrayLike]],
    p: ArrayLike,
    n: int,
    *,
    iterations: int = 20,
    tolerance: float = 1e-8,
    **options: Any,
) -> Fit:
    """Parameters p (k,) that make ½ Σ ‖r‖² over `n` worlds small, by Levenberg's and Marquardt's method from the given ones on.

    `residuals(p, chunk)` gives r (count, m) and its Jacobian (count, m, k) for a chunk's worlds. A worker sends sums of JᵀJ, Jᵀr and ‖r‖², k² +
    k + 1 numbers a few times, whatever the number of its worlds. It ends when an iteration changes no parameter by more than the
    `tolerance`, relatively, or none makes the cost smaller. `options` are those of `each`."""
    now: _Array = np.array(p, np.float64)
    damping = 1e-4

    def at(p: _Array) -> dict[str, _Array]:
        return total(functools.partial(_normal_equations, residuals, p), n, **options)

    here = at(now)
    costs = [0.5 * float(here["square"])]
    for _ in range(iterations):
        scale = damping * np.diag(np.diag(here["matrix"]))
        step = -np.linalg.solve(here["matrix"] + scale, here["vector"])
        there = at(now + step)
        if float(there["square"]) < float(here["square"]):
            now, here, damping = now + step, there, max(0.1 * damping, 1e-12)
        else:
            damping *= 10.0
        costs.append(0.5 * float(here["square"]))
        if np.all(np.abs(step) <= tolerance * np.maximum(np.abs(now), tolerance)) or damping > 1e8:
            break
    covariance: _Array = np.linalg.inv(here["matrix"]).astype(np.float64)
    return Fit(now, costs[-1], tuple(costs), covariance)


def _normal_equations(residuals: Any, p: _Array, chunk: Chunk) -> dict[str, _Array]:
    r, jacobian = (np.asarray(of, np.float64) for of in residuals(p, chunk))
    if r.ndim != 2 or jacobian.shape != (*r.shape, len(p)) or len(r) != len(chunk):
        shapes = f"({len(chunk)}, m) and ({len(chunk)}, m, {len(p)})"
        raise Error(f"residuals: expected arrays of shapes {shapes}, got {r.shape} and {jacobian.shape}")
    turned = np.swapaxes(jacobian, 1, 2)
    return {"matrix": turned @ jacobian, "vector": (turned @ r[..., None])[..., 0], "square": (r * r).sum(1)}


@dataclasses.dataclass(frozen=True)
class Case:
    """An episode of model-predictive control in a sweep."""

    task: str | os.PathLike[str] | Task
    """The task, its file, or the name of one that comes with the package."""
    episode: int = 0
    """The episode's number."""
    seed: int = 0
    """The seed of the episode, and of the plant's noise."""
    replace: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Settings of the task, as `Task.replace` takes them: what the planner believes."""
    plant: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Options of `mpc.Plant`: how the plant is."""
    supervised: bool = True
    """Does the task's supervisor act?"""


def sweep(cases: Sequence[Case], **options: Any) -> list[dict[str, Any]]:
    """Episodes of model-predictive control, one for each case, as rows of a table in the cases' order: the `success` (its period, or
    None), the number of `periods`, the last error of each kind, the mean `seconds` for a command and the `unsolved` steps of the plant;
    or the `failure`, a text, of one that raised. `options` are those of `each`; a chunk is one case if `size` does not say otherwise."""
    rows: list[dict[str, Any]] = [{} for _ in cases]
    for chunk, made in each(functools.partial(_episodes, list(cases)), len(cases), **{"size": 1, **options}):
        rows[chunk.first : chunk.first + chunk.count] = made
    return rows


def _episodes(cases: list[Case], chunk: Chunk) -> list[dict[str, Any]]:
    return [_row(cases[world]) for world in chunk.worlds]


def _row(case: Case) -> dict[str, Any]:
    try:
        task = case.task if isinstance(case.task, Task) else Task.load(case.task)
        task = task.replace(**case.replace)
        made = run(task, Plant(task, **case.plant), episode=case.episode, seed=case.seed, supervised=case.supervised)
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"}
    errors = {name: float(of[-1]) for name, of in made.errors.items()}
    periods, seconds = len(made.u), float(made.seconds.mean())
    return {"success": made.success, "periods": periods, **errors, "seconds": seconds, "unsolved": made.unsolved, "failure": None}


def dataset(work: _Work, n: int, folder: str | os.PathLike[str], **options: Any) -> list[Path]:
    """Writes what `work` makes of `n` worlds to a folder, as one Parquet file for each chunk, and gives the files in the order of the
    worlds: `pyarrow.parquet.read_table(folder)` reads them all. `work` returns arrays by name with a row for each world; those with more axes
    are lists of a fixed length. The column `world` has the ids.

    A file is written under another name and then renamed, so that one that is there is whole. Called again, it computes the chunks that
    are missing: what was interrupted goes on. Each worker writes its own chunks; all must reach the folder. `options` are those of
    `each`. It needs the package `pyarrow`."""
    retries, on, progress = (options.pop(name, default) for name, default in (("retries", 3), ("on", None), ("progress", False)))
    all_chunks, folder = chunks(n, **options), Path(folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    # Another seed or size in the same folder would mix two datasets.
    about, place = {"n": n, "size": all_chunks[0].count, "seed": all_chunks[0].seed}, folder / "_dataset.json"
    if place.exists() and (before := json.loads(place.read_text())) != about:
        raise Error(f"{folder}: expected the dataset of {about}, found that of {before}")
    _written(place, lambda path: path.write_text(json.dumps(about)))
    missing = [chunk for chunk in all_chunks if not _file(folder, chunk).exists()]
    for _ in _done(functools.partial(_write, work, folder), missing, on, retries, progress):
        pass
    return [_file(folder, chunk) for chunk in all_chunks]


def _file(folder: Path, chunk: Chunk) -> Path:
    return folder / f"worlds-{chunk.first:012d}.parquet"


def _write(work: _Work, folder: Path, chunk: Chunk) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = {"world": pyarrow.array(chunk.worlds)}
    for name, of in work(chunk).items():
        rows = np.asarray(of)
        if len(rows) != len(chunk):
            raise Error(f"{name}: expected {len(chunk)} rows, got {len(rows)}")
        columns[name] = arrow_column(rows)
    _written(_file(folder, chunk), lambda path: pyarrow.parquet.write_table(pyarrow.table(columns), path))


def arrow_column(rows: NDArray[Any]) -> Any:
    """Rows of an array as a column for Parquet: numbers, or lists of a fixed length."""
    import pyarrow

    made = pyarrow.array(np.ascontiguousarray(rows).ravel())
    for length in reversed(rows.shape[1:]):
        made = pyarrow.FixedSizeListArray.from_arrays(made, length)
    return made


def _written(path: Path, write: Callable[[Path], Any]) -> None:
    """Writes a file under another name, that of this process, and renames it."""
    other = path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}")
    write(other)
    os.replace(other, path)


def _done(
    work: _Work, todo: list[Chunk], on: int | str | None, retries: int, progress: _Progress
) -> Iterator[tuple[Chunk, Any]]:
    if on is None:
        made: Iterator[tuple[Chunk, Any]] = ((chunk, work(chunk)) for chunk in todo)
    elif isinstance(on, int) and on > 0:
        made = _by_processes(work, todo, on, retries)
    elif on == "ray":
        made = _by_ray(work, todo, retries)
    else:
        raise Error(f'on: expected None, a number of processes or "ray", got {on!r}')
    tell, last = _print if progress is True else progress or (lambda done, of: None), 0.0
    for done, one in enumerate(made, 1):
        yield one
        # What prints needs no more than some lines in a second.
        if progress is not True or done == len(todo) or time.monotonic() - last > 0.2:
            last = time.monotonic()
            tell(done, len(todo))


def _print(done: int, of: int) -> None:
    print(f"\r{done} of {of} chunks", end="\n" if done == of else "", file=sys.stderr, flush=True)


def _by_processes(work: _Work, todo: list[Chunk], processes: int, retries: int) -> Iterator[tuple[Chunk, Any]]:
    left = {chunk.first: chunk for chunk in todo}
    context = multiprocessing.get_context("spawn")
    while left:
        with concurrent.futures.ProcessPoolExecutor(processes, context) as pool:
            waiting = {pool.submit(_worker, work, chunk): chunk for chunk in left.values()}
            try:
                for future in concurrent.futures.as_completed(waiting):
                    made, chunk = future.result(), waiting[future]
                    del left[chunk.first]
                    yield chunk, made
            except BrokenProcessPool:
                # One that dies ends the pool; the next has the chunks that are left.
                retries -= 1
                if retries < 0:
                    raise
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def _by_ray(work: _Work, todo: list[Chunk], retries: int) -> Iterator[tuple[Chunk, Any]]:
    import ray

    if not ray.is_initialized():
        ray.init()
    # Once for all chunks, and to each machine once.
    shared, waiting, next_chunks = ray.put(work), {}, iter(todo)
    remote = ray.remote(max_retries=retries)(_worker)
    # Twice what runs at a time: so no worker waits, and the head never knows of more.
    most = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(chunk: Chunk) -> None:
        waiting[remote.options(num_cpus=chunk.threads).remote(shared, chunk)] = chunk

    for chunk in next_chunks:
        submit(chunk)
        if len(waiting) == most:
            break
    while waiting:
        [ready], _ = ray.wait(list(waiting), num_returns=1)
        chunk = waiting.pop(ready)
        yield chunk, ray.get(ready)
        if (following := next(next_chunks, None)) is not None:
            submit(following)


def _worker(work: _Work, chunk: Chunk) -> Any:
    # What has no threads of its own, planning, uses those of the process, which start when they are first needed.
    os.environ.setdefault("RAYON_NUM_THREADS", str(chunk.threads))
    return work(chunk)
