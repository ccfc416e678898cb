"""Many worlds on processes and on Ray: the same bits whatever computes them."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import fingertip as ft
from fingertip import cluster


def squares(chunk):
    return {"x": chunk.normal(3), "x²": chunk.normal(3) ** 2}


def identity(chunk):
    return chunk.worlds.tolist()


def dies_once(folder, victim, chunk):
    """Work whose process is killed at one chunk, the first time."""
    mark = Path(folder) / "died"
    if chunk.first == victim and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(chunk)


def test_worlds_have_streams_of_their_own():
    all_of, some = cluster.Chunk(0, 100, seed=7), cluster.Chunk(40, 3, seed=7)
    assert np.array_equal(all_of.normal(5)[40:43], some.normal(5)) and np.array_equal(some.worlds, [40, 41, 42])
    assert np.array_equal(all_of.uniform(2, [0, 10], [1, 20])[40:43], some.uniform(2, [0, 10], [1, 20]))
    assert not np.array_equal(cluster.Chunk(40, 3, seed=8).normal(5), some.normal(5))
    drawn = cluster.Chunk(0, 20_000, seed=1).normal(1)
    # Four standard deviations of the mean and of the variance.
    assert abs(drawn.mean()) < 4 / np.sqrt(20_000) and abs(drawn.var() - 1) < 4 * np.sqrt(2 / 20_000)
    assert np.random.Generator(np.random.Philox(key=(7 << 64) + 41)).standard_normal() == some.normal(1)[1, 0]


@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000, 1023])
def test_sums_do_not_depend_on_chunks(n):
    whole = cluster.total(squares, n, size=n)
    rows = squares(cluster.Chunk(0, n))
    assert np.allclose(whole["x"], rows["x"].sum(0), atol=1e-9 * n)
    for size in (1, 3, 10, 64, 333):
        if size <= n:
            parts = cluster.total(squares, n, size=size)
            assert all(np.array_equal(parts[name], whole[name]) for name in whole), size


def test_sums_do_not_depend_on_the_order_of_chunks():
    random, n = np.random.default_rng(0), 777
    whole = cluster.total(squares, n, size=n)
    for _ in range(5):
        all_chunks = cluster.chunks(n, 50)
        random.shuffle(all_chunks)
        parts = [cluster.Sums.of(chunk.first, squares(chunk)) for chunk in all_chunks]
        made = sum(parts, cluster.Sums({})).total
        assert all(np.array_equal(made[name], whole[name]) for name in whole)
    # And it is no sum from the left, which would not have these bits.
    assert not np.array_equal(np.add.reduce(squares(cluster.Chunk(0, n))["x"]), whole["x"])


def test_processes_and_one_that_dies(tmp_path):
    import functools

    whole, told = cluster.total(squares, 500, size=500), []
    work = functools.partial(dies_once, str(tmp_path), 200)
    made = cluster.total(work, 500, size=100, on=2, progress=lambda done, of: told.append((done, of)))
    assert (tmp_path / "died").exists() and told[-1] == (5, 5)
    assert all(np.array_equal(made[name], whole[name]) for name in whole)
    (tmp_path / "died").unlink()
    with pytest.raises(cluster.BrokenProcessPool):
        cluster.total(work, 500, size=100, on=2, retries=0)


def test_each_gives_every_chunk_once():
    made = dict(cluster.each(identity, 25, size=10))
    assert sorted(chunk.first for chunk in made) == [0, 10, 20] and sum(made.values(), []) == list(range(25))


def test_identification():
    """Masses and friction from noisy steps of many worlds: a Gauss–Newton step of sums."""
    model = ft.Model.load("hand_ball")
    sim = ft.Quasidynamic(model)
    at = model.object("ball").q

    def state(chunk):
        q = model.home(len(chunk)) + 1e-3 * chunk.normal(model.nq)
        # The ball on the table, where its mass and ε say how it falls; away from home it is pushed.
        return q, np.tile(model.control(0.5), (len(chunk), 1))

    def seen(chunk):
        q, u = state(chunk)
        return sim.with_params(stiffness=1.3 * model.params["stiffness"], h=0.012).step(q, u).q_next

    def residuals(p, chunk):
        q, u = state(chunk)
        now = lambda p: sim.with_params(stiffness=p[0] * model.params["stiffness"], h=p[1]).step(q, u).q_next
        columns = [(now(p + d) - now(p - d)) / 2e-6 for d in 1e-6 * np.eye(2)]
        return now(p) - seen(chunk), np.stack(columns, -1)

    assert at.stop > at.start
    fit = cluster.gauss_newton(residuals, [1.0, 0.01], 40, size=16)
    assert fit.costs[0] > 1e3 * fit.cost and fit.p == pytest.approx([1.3, 0.012], rel=1e-4)
    other = cluster.gauss_newton(residuals, [1.0, 0.01], 40, size=7)
    assert np.array_equal(other.p, fit.p) and other.costs == fit.costs and fit.covariance.shape == (2, 2)
    with pytest.raises(ft.Error, match="residuals: expected arrays of shapes"):
        cluster.gauss_newton(lambda p, chunk: (np.zeros(4), np.zeros(4)), [1.0], 4)


def test_a_sweep():
    cases = [cluster.Case("tips_air", episode=k, replace={"cap": 2}) for k in (0, 1)]
    cases.append(cluster.Case("tips_air", plant={"overrides": {"mu": {"tips/cub": 1.0}}}))
    rows = cluster.sweep(cases)
    assert [row.get("periods") for row in rows] == [2, 2, None] and rows[0]["failure"] is None
    assert "cub" in rows[2]["failure"] and rows[0]["position"] > 0
    run = ft.mpc.run(ft.Task.load("tips_air").replace(cap=2), episode=1)
    assert rows[1]["position"] == run.errors["position"][-1]


def test_a_dataset(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    calls = []

    def work(chunk):
        calls.append(chunk.first)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return {"x": chunk.normal(3), "y": chunk.worlds**2, "turn": chunk.normal(4).reshape(-1, 2, 2)}

    with pytest.raises(KeyboardInterrupt):
        cluster.dataset(work, 35, tmp_path, size=10, seed=2)
    files = cluster.dataset(work, 35, tmp_path, size=10, seed=2)
    # What was there is not computed again, and nothing else is left in the folder.
    assert calls == [0, 10, 20, 20, 30] and len(files) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*(path.name for path in files), "_dataset.json"])
    table = parquet.read_table(tmp_path)
    whole = cluster.Chunk(0, 35, seed=2)
    assert table["world"].to_pylist() == whole.worlds.tolist()
    assert np.array_equal(np.array(table["x"].to_pylist()), whole.normal(3))
    assert np.array_equal(np.array(table["turn"].to_pylist()), whole.normal(4).reshape(-1, 2, 2))
    before = [path.read_bytes() for path in files]
    assert [path.read_bytes() for path in cluster.dataset(work, 35, tmp_path, size=10, seed=2)] == before and len(calls) == 5
    with pytest.raises(ft.Error, match="expected the dataset of"):
        cluster.dataset(work, 35, tmp_path, size=10, seed=3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"size": 0}, "size: expected at least 1, got 0"),
        ({"seed": -1}, "seed: expected a number from 0"),
        ({"threads": 0}, "threads: expected at least 1"),
        ({"on": "dask"}, 'on: expected None, a number of processes or "ray", got \'dask\''),
        ({"on": 0}, "on: expected None"),
    ],
)
def test_bad_options(options, says):
    with pytest.raises(ft.Error, match=says.replace("(", r"\(")):
        cluster.total(squares, 4, **options)
    with pytest.raises(ft.Error, match="n: expected at least 1"):
        cluster.total(squares, 0)


def test_ray_with_a_node_that_is_lost(tmp_path, monkeypatch):
    """Two nodes on this machine: a worker is killed, then a node. The sums keep their bits."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    # Workers import this module.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    # A busy machine starts slowly.
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "180")
    import ray
    from ray.cluster_utils import Cluster

    def work(chunk):
        import time

        time.sleep(0.2)
        (tmp_path / f"node-{ray.get_runtime_context().get_node_id()}").touch()
        return dies_once(str(tmp_path), 60, chunk)

    whole = cluster.total(squares, 400, size=400)
    machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        other = machines.add_node(num_cpus=1)
        ray.init(address=machines.address, log_to_driver=False)
        sums, lost = cluster.Sums({}), False
        for done, (chunk, rows) in enumerate(cluster.each(work, 400, size=20, on="ray")):
            sums += cluster.Sums.of(chunk.first, rows)
            if done == 8:
                machines.remove_node(other, allow_graceful=False)
                lost = True
        made = sums.total
        assert lost and (tmp_path / "died").exists() and len(list(tmp_path.glob("node-*"))) == 2
        assert all(np.array_equal(made[name], whole[name]) for name in whole)
    finally:
        ray.shutdown()
        machines.shutdown()
