"""The programs in the READMEs run."""

import re

import pytest
from conftest import ROOT

README = ROOT / "python" / "README.md"


def run(path, monkeypatch, capsys, first_line="", folder=ROOT):
    """What the one program of a file that begins so prints, in a folder."""
    programs = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    (program,) = (program for program in programs if program.startswith(first_line))
    monkeypatch.chdir(folder)
    exec(compile(program, str(path), "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_readme(monkeypatch, capsys):
    lines = run(README, monkeypatch, capsys, "import numpy as np\nimport fingertip as ft\n\nmodel")
    assert lines[0] == "(64, 24) (64, 6, 3) True" and lines[2] == "(64, 41, 24) (64, 40, 6, 3)"
    assert lines[3] == "(64, 24, 24) (64, 24, 21) (64, 18, 24) (64, 18, 21)"


def test_first_lines(monkeypatch, capsys, tmp_path):
    lines = run(README, monkeypatch, capsys, "import fingertip", tmp_path)
    assert lines[0] == "(24,) (6, 3) True" and "success at" in lines[1]
    assert (tmp_path / "run.html").stat().st_size > 100_000


def test_planning(monkeypatch, capsys):
    lines = run(README, monkeypatch, capsys, "import numpy as np\nimport fingertip as ft\n\ntask")
    success, *_, left = lines[0].split()
    assert int(success) < 60 and float(left) > -0.01 and lines[1].endswith("False")


def test_jax(monkeypatch, capsys):
    pytest.importorskip("jax")
    assert run(README, monkeypatch, capsys, "import jax") == ["(64, 40, 21) (1,)"]


def test_gymnasium(monkeypatch, capsys):
    pytest.importorskip("gymnasium", "1.1")
    assert run(README, monkeypatch, capsys, "import gymnasium") == ["(64, 72) (64,)"]


def test_readme_of_the_repository(monkeypatch, capsys):
    lines = run(ROOT / "README.md", monkeypatch, capsys)
    assert lines[0].startswith("(24,) (21,) [[")
