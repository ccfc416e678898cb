"""The stub has the docstrings of what it describes; `stubtest` compares the rest."""

from stub_docs import STUB, with_docs


def test_docstrings():
    text = STUB.read_text()
    assert with_docs(text) == text, "run python python/tests/stub_docs.py"
