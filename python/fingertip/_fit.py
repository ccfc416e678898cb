"""Parameters from logs."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._fingertip import Error, Fit, Model, _fit

Log = str | os.PathLike | Mapping[str, ArrayLike]


def fit(
    model: Model,
    logs: Log | Sequence[Log],
    by: str | Sequence[str],
    *,
    start: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    prior: Mapping[str, tuple[float, float]] | None = None,
    noise: Mapping[str, float] | None = None,
    window: float | None = None,
    second_order: bool = False,
    max_iterations: int = 50,
) -> Fit:
    """Parameters of a model from logs of commands and measurements, with standard errors, by exact derivatives.

        fit = fingertip.fit(model, ["a.csv", "b.mcap"], ["stiffness.*", "mass.ball"])
        sim = fingertip.Quasidynamic(model, **fit.params)

    A log is a file, a table (`*.csv`), a recording (`*.mcap`) or its arrays (`*.npz`), or columns by name (n,): `time`, s, commands as
    `u:JOINT`, and for what was measured the names of numbers in q (`Model.q_names`) or `force:THING.x`, NaN where there is none. `by`
    are the numbers to look for, as `"mu.ball/hand"`, `"damping.*"`, `"latency"`. `start`, `bounds` (lower, upper) and `prior` (mean,
    standard deviation) are by the same names; `noise` is the standard deviation of measurements by kind, `joint`, `position`,
    `rotation` or `force`, else found from what is left over. `window`, s, rolls out parts of the logs, each from what was measured
    at its start. `second_order` moves by the second-order step, and not by the quasi-dynamic one.

    The page crates/plan/docs/fit.md says more.
    """
    several = list(logs) if isinstance(logs, Sequence) and not isinstance(logs, str) else [logs]
    names = [by] if isinstance(by, str) else list(by)

    def items(of: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
        return list((of or {}).items())

    sources = [_source(k, log) for k, log in enumerate(several)]
    return _fit(
        model, sources, names, items(start), items(bounds), items(prior), items(noise), window, second_order, max_iterations
    )


def _source(k: int, log: Log) -> tuple[str, dict[str, Any] | None]:
    """A log's name, and its columns if it is no file that the library reads."""
    if isinstance(log, Mapping):
        return f"log {k}", dict(log)
    name = os.fspath(log)
    if not name.lower().endswith(".npz"):
        return name, None
    with np.load(name) as arrays:
        missing = [key for key in ("time", "q", "u", "q_names", "u_names") if key not in arrays]
        if missing:
            raise Error(f"{name}: expected an array {missing[0]!r}, as in what `export --npz` writes")
        columns = {"time": arrays["time"]}
        columns.update(zip(arrays["q_names"].tolist(), arrays["q"].T))
        columns.update((f"u:{joint}", u) for joint, u in zip(arrays["u_names"].tolist(), arrays["u"].T))
    return name, columns
