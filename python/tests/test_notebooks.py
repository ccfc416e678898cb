"""The notebooks run, from any folder, and keep no outputs."""

import ast
import json

import pytest
from conftest import ROOT

import fingertip as ft

NOTEBOOKS = sorted((ROOT / "python" / "examples").glob("*.ipynb"))
NEEDED = {"learning": ["jax", "gymnasium"]}


def values(notebook):
    """What each cell of code shows: the value of its last line."""
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"] and cell["execution_count"] is None
            *lines, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(lines, []), "cell", "exec"), names)
            yield eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, monkeypatch, tmp_path):
    for package in NEEDED.get(path.stem, []):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    shown = list(values(json.loads(path.read_text())))
    assert all(value is not None for value in shown)
    replays = [value for value in shown if isinstance(value, ft.Replay)]
    assert replays and all(len(replay._repr_html_()) < 2_100_000 for replay in replays)
    runs = [value for value in shown if isinstance(value, ft.mpc.Run)]
    assert all(run.success for run in runs)
    if path.stem == "learning":
        before, worst = (value for value in shown if isinstance(value, float))
        assert before > 15 and worst < 2  # mm
