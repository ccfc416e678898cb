"""The stub has the docstrings of what it describes; `stubtest` compares the rest."""

import fingertip
import pytest
from stub_docs import STUB, with_docs


def test_docstrings():
    text = STUB.read_text()
    assert with_docs(text) == text, "run python python/tests/stub_docs.py"


def test_modules_on_demand(tmp_path):
    """Editors and type checkers know the modules that are imported when they are asked for."""
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text("import fingertip as ft\nreveal_type(ft.cluster.chunks)\nreveal_type(ft.torch.rollout)\nreveal_type(ft.jax.jacobian)\n")
    config = STUB.parents[1] / "pyproject.toml"
    said, _, status = api.run([str(program), "--config-file", str(config), "--cache-dir", str(tmp_path)])
    assert status == 0 and all(word in said for word in ("Chunk", "RolloutResult", "Model")), said
    assert {"cluster", "gym", "jax", "mujoco", "torch"} <= set(dir(fingertip))
