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
    assert lines[0] == "(64, 24) (64, 6, 3) True" and lines[2].startswith("table ball [")
    assert lines[3] == "(64, 41, 24) (64, 40, 6, 3)"
    assert lines[4] == "(64, 24, 24) (64, 24, 21) (64, 18, 24) (64, 18, 21)"


def test_first_lines(monkeypatch, capsys, tmp_path):
    lines = run(README, monkeypatch, capsys, "import fingertip", tmp_path)
    assert lines[0] == "(24,) (6, 3) True" and "success at" in lines[1]
    assert (tmp_path / "run.html").stat().st_size > 100_000


def test_planning(monkeypatch, capsys):
    lines = run(README, monkeypatch, capsys, "import numpy as np\nimport fingertip as ft\n\ntask")
    success, *_, left = lines[0].split()
    assert int(success) < 150 and float(left) > -0.51 and lines[1].endswith("False")


def test_jax(monkeypatch, capsys):
    pytest.importorskip("jax")
    assert run(README, monkeypatch, capsys, "import jax") == ["(64, 40, 21) (1,)"]


def test_mujoco(monkeypatch, capsys):
    pytest.importorskip("mujoco")
    (line,) = run(README, monkeypatch, capsys, "import mujoco")
    assert line.startswith("<fingertip.Model nq=11 ") and " True " in line


def test_follow(monkeypatch, capsys):
    page = ROOT / "crates/plan/docs/follow.md"
    assert run(page, monkeypatch, capsys, "import fingertip")[0].startswith("<fingertip.Followed")
    assert run(page, monkeypatch, capsys, "import numpy")[0].startswith("off by ")


def test_cluster(monkeypatch, capsys):
    (line,) = run(ROOT / "docs" / "cluster.md", monkeypatch, capsys)
    assert line.startswith("{'height': ")


def test_logs(monkeypatch, capsys, tmp_path):
    for needed in ("h5py", "pyarrow"):
        pytest.importorskip(needed)
    (line,) = run(ROOT / "docs" / "logs.md", monkeypatch, capsys, folder=tmp_path)
    assert line.startswith("10.0 (5, 16) {'state': (6, 16), 'environment_state': (6, 7), 'force': (6, ")
    assert (tmp_path / "out" / "turn" / "meta" / "info.json").exists() and (tmp_path / "out" / "turn.hdf5").exists()


def test_gymnasium(monkeypatch, capsys):
    pytest.importorskip("gymnasium", "1.1")
    assert run(README, monkeypatch, capsys, "import gymnasium") == ["(64, 72) (64,)"]


@pytest.mark.parametrize("title", ["First step", "Own robot", "Gradients", "Planning", "Own cost", "Learning", "Cluster", "Viewing"])
def test_guide(title, monkeypatch, capsys):
    """Each section's program prints what is to be seen; those in Rust are tests of the crate."""
    if title == "Learning":
        pytest.importorskip("jax")
    text = (ROOT / "docs" / "guide.md").read_text()
    (section,) = (part for part in text.split("\n## ") if part.startswith(f"{title}\n"))
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(compile(program, title, "exec"), {})
    *_, last = capsys.readouterr().out.splitlines()
    if title == "Learning":
        first, end = map(float, last.split())
        assert end < 0.5 * first
    assert last


def test_readme_of_the_repository(monkeypatch, capsys):
    lines = run(ROOT / "README.md", monkeypatch, capsys)
    assert lines[0].startswith("(24,) (21,) [[")
