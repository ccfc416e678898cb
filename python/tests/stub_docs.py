"""Writes the docstrings that the library has into its stub, where editors look for them.

python python/tests/stub_docs.py
"""

import ast
from pathlib import Path

from fingertip import _fingertip

STUB = Path(__file__).resolve().parents[1] / "fingertip" / "_fingertip.pyi"


def with_docs(text):
    """The stub's text with the docstrings that its classes, methods and functions have when they run."""
    lines = text.splitlines()
    for node, thing in reversed(list(documented(ast.parse(text), _fingertip))):
        first, indent = node.body[0], " " * (node.col_offset + 4)
        doc = f'"""{thing.__doc__}"""'.replace("\n", f"\n{indent}").replace(f"\n{indent}\n", "\n\n")
        line, end = lines[first.lineno - 1], first.end_lineno
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            # What is there already, or "...".
            before = line[: first.col_offset].rstrip()
            lines[first.lineno - 1 : end] = ([before] if before else []) + [indent + doc]
        else:
            start = min([first.lineno, *(decorator.lineno for decorator in first.decorator_list)]) - 1
            lines[start:start] = [indent + doc, ""]
    return "\n".join(lines) + "\n"


def documented(node, owner):
    """Each class and function in a stub's tree with what it is when it runs, if that has a docstring."""
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("__"):
            thing = getattr(owner, child.name)
            if thing.__doc__:
                yield child, thing
            if isinstance(child, ast.ClassDef):
                yield from documented(child, thing)


if __name__ == "__main__":
    STUB.write_text(with_docs(STUB.read_text()))
