"""Bounds for expressions that put several ideas into one statement."""

import ast
from collections import Counter
from collections.abc import Callable

from tests.source_files import PRODUCT, sources


def is_conditional(node: ast.AST) -> bool:
    return isinstance(node, ast.IfExp)


def is_parallel_assignment(node: ast.AST) -> bool:
    """Whether one statement assigns several values to several names, as in `a, b = x, y`."""
    return (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
    )


def is_starred_display(node: ast.AST) -> bool:
    """Whether a list, tuple or set is written with another one in it, as in `[*names, name]`."""
    if isinstance(node, ast.List | ast.Tuple):
        return isinstance(node.ctx, ast.Load) and any(isinstance(part, ast.Starred) for part in node.elts)
    return isinstance(node, ast.Set) and any(isinstance(part, ast.Starred) for part in node.elts)


def is_lambda(node: ast.AST) -> bool:
    return isinstance(node, ast.Lambda)


# Most of 1,000 lines. Lower a bound whenever a change leaves fewer than it allows.
BOUNDS = {is_conditional: 17.4, is_parallel_assignment: 3.36, is_starred_display: 3.95, is_lambda: 2.3}


def test_expressions_that_save_only_a_line_are_rare():
    found: Counter[Callable[[ast.AST], bool]] = Counter()
    lines = 0
    for path in sources(*PRODUCT):
        text = path.read_text()
        lines += text.count("\n")
        for node in ast.walk(ast.parse(text)):
            found.update(kind for kind in BOUNDS if kind(node))
    for kind, bound in BOUNDS.items():
        density = 1_000 * found[kind] / lines
        assert density <= bound, f"{kind.__name__}: {density:.2f} of 1,000 lines"
