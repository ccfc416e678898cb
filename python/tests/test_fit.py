"""Parameters from logs: of arrays and files, and what cannot be used."""

import numpy as np
import pytest

import fingertip as ft

NOISE = 1e-4


@pytest.fixture(scope="module")
def model():
    return ft.Model.load("two_fingers")


@pytest.fixture(scope="module")
def log(model):
    """The fingers squeeze and carry a disc of 0.3 kg, with springs of 3 N·m/rad."""
    time = 0.05 * np.arange(61)
    u = model.control(time)
    sim = ft.Quasidynamic(model, stiffness=3.0).with_params(mass=0.3, inertia=1.5 * model.params["inertia"])
    q = sim.rollout(model.home(), u[:-1]).q + NOISE * np.random.default_rng(0).standard_normal((61, model.nq))
    columns = {"time": time}
    columns |= {f"u:{name}": u[:, k] for k, name in enumerate(model.u_names)}
    return columns | {name: q[:, k] for k, name in enumerate(model.q_names)}


def test_what_made_a_log_is_found(model, log, tmp_path):
    fit = ft.fit(model, log, ["mass.disc", "stiffness"], bounds={"mass.disc": (0.1, 0.5)}, start={"stiffness": 1.0})
    assert fit.names == ["mass.disc", "stiffness"] and fit.units == ["kg", "N·m/rad or N/m"]
    assert fit.converged and all(fit.told) and fit.blind == [] and fit.start.tolist() == [0.2, 1.0]
    assert (np.abs(fit.values - [0.3, 3.0]) < 4 * fit.errors).all() and (fit.errors < 0.02 * fit.values).all()
    n, size, noise = fit.noise["joint"]
    assert n == 4 * 61 and abs(noise / NOISE - 1) < 0.25 and size < noise
    # The parameters are those of a step.
    sim = ft.Quasidynamic(model, **fit.params)
    u = np.stack([log[f"u:{name}"] for name in model.u_names], -1)
    predicted = sim.rollout(model.home(), u[:-1]).q
    time, measured, found = fit.predictions[0, "disc.x"]
    assert np.array_equal(measured, log["disc.x"]) and np.array_equal(time, log["time"])
    assert np.abs(found - predicted[:, model.q_names.index("disc.x")]).max() < 5 * NOISE
    fit.save(tmp_path / "fit.svg")
    fit.save(tmp_path / "fit.csv")
    assert (tmp_path / "fit.csv").read_text().count("\n") == 1 + 7 * 61 and "<svg" in (tmp_path / "fit.svg").read_text()
    assert "mass.disc = 0.3" in repr(fit)


def test_files_are_as_arrays(model, log, tmp_path):
    table, arrays = tmp_path / "log.csv", tmp_path / "log.npz"
    np.savetxt(table, np.stack(list(log.values()), -1), delimiter=",", header=",".join(log), comments="", fmt="%.17g")
    q = np.stack([log[name] for name in model.q_names], -1)
    u = np.stack([log[f"u:{name}"] for name in model.u_names], -1)
    np.savez(arrays, time=log["time"], q=q, u=u, q_names=model.q_names, u_names=model.u_names)
    by_columns = ft.fit(model, log, "stiffness")
    for path in (table, arrays, str(table)):
        assert np.array_equal(ft.fit(model, path, "stiffness").values, by_columns.values), path
    # The same log again is half the variance.
    twice = ft.fit(model, [table, log], "stiffness", noise={"joint": NOISE, "position": NOISE})
    once = ft.fit(model, table, "stiffness", noise={"joint": NOISE, "position": NOISE})
    assert abs(twice.errors[0] / once.errors[0] * np.sqrt(2) - 1) < 1e-3


def test_a_recording_is_a_log(model, tmp_path):
    u = model.control(0.05 * np.arange(60))
    sim = ft.Quasidynamic(model, mu=0.5)
    ft.show(model, sim.rollout(model.home(), u), u=u).save(tmp_path / "run.mcap")
    assert abs(ft.fit(model, tmp_path / "run.mcap", "mu").values[0] - 0.5) < 1e-6


def test_what_the_model_lacks_is_said(model, log):
    late = log | {"time": 0.2 * log["time"]}
    assert "residuals that follow each other are alike" in repr(ft.fit(model, late, "stiffness"))
    assert "alike" not in repr(ft.fit(model, log, ["mass.disc", "stiffness"]))
    # Residuals of rounding tell nothing.
    u = np.stack([log[f"u:{name}"] for name in model.u_names], -1)
    q = ft.Quasidynamic(model, stiffness=3.0).rollout(model.home(), u[:-1]).q
    exact = log | {name: q[:, k] for k, name in enumerate(model.q_names)}
    fit = ft.fit(model, exact, "stiffness", window=0.2)
    assert abs(fit.values[0] - 3.0) < 1e-6 and fit.noise["joint"][1] < 1e-9 and "alike" not in repr(fit)


def test_columns_that_mean_nothing_are_named(model, log):
    with pytest.warns(UserWarning, match="log 0: columns that mean nothing here: disk.x, note"):
        ft.fit(model, log | {"disk.x": log["disc.x"], "note": log["time"]}, "stiffness")


def test_what_a_log_cannot_tell(model, log):
    fit = ft.fit(model, log, ["mass.disc", "epsilon", "stiffness"], prior={"epsilon": (1.0, 0.01)})
    ((change, error),) = fit.blind
    assert "mass.disc ×" in change and "epsilon ×" in change and error > 1
    assert abs(fit.values[0] - 0.3) < 4 * fit.errors[0] < 0.05 and fit.told == [False, False, True]


# What is done, and what its message says.
CASES = {
    "no number": (lambda it: ft.fit(it.model, it.log, []), "fit: expected at least one number to look for"),
    "no log": (lambda it: ft.fit(it.model, [], "mu"), "fit: expected at least one log"),
    "unknown number": (lambda it: ft.fit(it.model, it.log, "mas.disc"), 'there is no parameter "mas"; did you mean "mass"?'),
    "unknown start": (lambda it: ft.fit(it.model, it.log, "mu", start={"mass": 1.0}), "mass: expected one of the numbers"),
    "unknown kind": (lambda it: ft.fit(it.model, it.log, "mu", noise={"joints": 1.0}), 'did you mean "joint"?'),
    "bounds": (lambda it: ft.fit(it.model, it.log, "mu", bounds={"mu": (1, 0.5)}), 'bounds of "mu": expected a lower'),
    "NaN": (lambda it: ft.fit(it.model, it.log, "mu", window=np.nan), "window: expected a positive time in s, got NaN"),
    "iterations": (lambda it: ft.fit(it.model, it.log, "mu", max_iterations=0), "max_iterations: expected at least 1, got 0"),
    "a matrix": (lambda it: ft.fit(it.model, {"time": np.eye(3)}, "mu"), "log 0: time: expected shape (n,), got (3, 3)"),
    "no time": (lambda it: ft.fit(it.model, {"disc.x": [0.0] * 3}, "mu"), 'log 0: expected a column "time" in s'),
    "too short": (lambda it: ft.fit(it.model, {"time": [0.0, 1.0]}, "mu"), "log 0: expected at least 3 rows, got 2"),
    "infinite": (
        lambda it: ft.fit(it.model, {"time": [0, 1, 2], "disc.x": [0, np.inf, 0]}, "mu"),
        'log 0: row 1: column "disc.x": expected a finite number',
    ),
    "lengths": (lambda it: ft.fit(it.model, {"time": [0, 1, 2], "disc.x": [0]}, "mu"), "expected 3 numbers as in"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name, model, log):
    class It:
        pass

    It.model, It.log = model, log
    do, expected = CASES[name]
    with pytest.raises(ft.Error) as error:
        do(It)
    assert expected in str(error.value)


def test_no_such_file(model):
    with pytest.raises(FileNotFoundError):
        ft.fit(model, "nowhere.csv", "mu")
