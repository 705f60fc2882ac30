"""The mutation score of the decision code: change one operator, constant or condition at a time, and run the tests.

    python -m tests.mutation                                     # the modules of TESTS
    python -m tests.mutation licensing/policies/decision.py      # one of them
    python -m tests.mutation FILE.py --tests tests/endpoints/test_access.py

Each mutant runs in a process forked after test collection, with one function replaced. It meets the tests that call
this function, until one fails. Code that runs at import (tables) is not mutated. Prints the score and surviving
mutants. Uses SQLite; for code that only PostgreSQL runs, such as analytics/recording/batch.py, start it with
`python -m tests.services --no-fsync python -m tests.mutation FILE.py`.
"""

import argparse
import ast
import copy
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest


def files(folder: str, *names: str) -> list[str]:
    return [f"tests/{folder}/test_{name}.py" for name in names]


# The quickest tests first: a mutant meets them in this order, until one fails.
DECISIONS = files(
    "decisions", "golden_decisions", "evaluation", "facts", "standing", "dependences", "charges_of_decisions"
)
CONDITIONS = [*DECISIONS, *files("decisions", "all_rule_faults", "rule_validation", "lint")]
CHECKS = files("endpoints", "access_check", "access_licenses", "access_wallets", "access_cache_for", "policy_simulate")
RECORDING = [
    *files("endpoints", "access_check", "access_rate_limits", "access_batch", "access_wallets"),
    *files("wallets", "spending_in_the_record", "histories"),
    *files("analytics", "ledger", "counts_of_decisions"),
]
LIMITS = [
    *files("gateway", "limit_states", "order", "who_asks", "probes"),
    *files("conventions", "limits"),
    *files("edge", "plan_meter"),
    *files("webhooks", "limit_events"),
]
LEDGER = [
    *files("endpoints", "refunds", "revenue_ledger", "access_wallets", "merged_wallets"),
    *files("analytics", "ledger"),
    *files("admin", "refunds"),
]
TESTS = {
    "licensing/policies/decision.py": [
        *DECISIONS,
        *files("decisions", "schedule"),
        *files("endpoints", "policy_modes", "access_schedule", "permission_asked_for"),
        *CHECKS,
        *files("edge", "observed", "prices", "prices_for_payers", "free_pages_of_payers", "metered_reading"),
    ],
    "licensing/policies/conditions.py": [*CONDITIONS, *files("decisions", "compiled")],
    "licensing/policies/condition_values.py": [*CONDITIONS, *files("decisions", "attributes")],
    "licensing/policies/matching/attribute_conditions.py": [
        *files("decisions", "attributes"),
        *CONDITIONS,
        *files("endpoints", "access_attributes"),
    ],
    "licensing/policies/matching/attribute_text.py": [*files("decisions", "attributes"), *CONDITIONS],
    "licensing/policies/matching/schedules.py": [
        *files("decisions", "schedule"),
        *CONDITIONS,
        *files("endpoints", "access_schedule"),
    ],
    "licensing/policies/facts.py": [*DECISIONS, *CHECKS, *files("endpoints", "decision_get", "access_faults")],
    "licensing/policies/effective_licenses.py": [*DECISIONS, *CHECKS, *files("edge", "license_tokens")],
    "licensing/policies/rate_limits.py": [
        *files("decisions", "rate_limit_windows"),
        *files("endpoints", "access_rate_limits"),
        *files("webhooks", "limit_events"),
        *files("edge", "metered_reading"),
    ],
    "analytics/recording/batch.py": [
        *RECORDING,
        *files("gateway", "one_commit", "newcomers", "lookups_on_the_loop", "keys_of_retries", "lost_connections"),
    ],
    "analytics/ledger/refunds.py": LEDGER,
    "analytics/ledger/services.py": LEDGER,
    "accounts/limits/windows.py": LIMITS,
    "accounts/limits/limiter.py": LIMITS,
}
MAX_SECONDS = 120  # for the tests of a mutant; a timeout counts as detected
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Mod: ast.Mult,
}


def changed(node: ast.AST) -> ast.AST | None:
    """Return the mutated node, or None."""
    node = copy.deepcopy(node)
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in OPERATORS:
            node.ops = [OPERATORS[type(operator)]()]  # type: ignore[list-item]
        case ast.BoolOp() | ast.BinOp() if type(node.op) in OPERATORS:
            node.op = OPERATORS[type(node.op)]()  # type: ignore[assignment]
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.IfExp() | ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int()):
            node.value += 1
        case ast.Constant(value=str()):
            node.value += "?"
        case _:
            return None
    return node


def sites(function: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Yield parent, field and index of each node in a function, except annotations and docstrings."""
    for name, value in ast.iter_fields(function):
        if name in ("annotation", "returns", "decorator_list", "values") and not isinstance(function, ast.BoolOp):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not is_text:
                yield function, name, index
                yield from sites(child)


def mutants(path: str) -> Iterator[tuple[str, int | None, CodeType]]:
    """Yield each mutant of a file: what it changes, the first line of the function, and its module's code.

    The line is None if the function's results are cached: most tests that depend on it then do not call it.
    """
    tree = ast.parse(Path(path).read_text(), path)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        is_cached = any("cache" in ast.unparse(decorator) for decorator in function.decorator_list)
        first_line = None if is_cached else min(node.lineno for node in (function, *function.decorator_list))
        for parent, field, index in sites(function):
            held = getattr(parent, field)
            node = held if index is None else held[index]
            other = changed(node)
            if other is None:
                continue
            before, after = ast.unparse(node).splitlines()[0], ast.unparse(other).splitlines()[0]
            put(parent, field, index, other)
            code = compile(ast.fix_missing_locations(ast.parse(ast.unparse(tree))), path, "exec")
            put(parent, field, index, node)
            name = f"{path}:{node.lineno} {function.name}: {before}  →  {after}"  # type: ignore[attr-defined]
            yield name, first_line, code


def put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def codes_of(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes_of(constant)


WRAPPING = ("fget", "__func__", "func")  # where properties, class methods and cached properties keep their functions


def functions_of(module: ModuleType) -> dict[str, FunctionType]:
    """Return the module's functions and methods by their qualified names."""
    members: list[Any] = list(vars(module).values())
    members += [member for one in members if isinstance(one, type) for member in vars(one).values()]
    plain = [next((getattr(one, name) for name in WRAPPING if hasattr(one, name)), one) for one in members]
    plain = [getattr(function, "__wrapped__", function) for function in plain]
    found = (function for function in plain if isinstance(function, FunctionType))
    return {function.__qualname__: function for function in found if function.__module__ == module.__name__}


def replace_code(module: ModuleType, code: CodeType) -> None:
    functions = functions_of(module)
    for one in codes_of(code):
        function = functions.get(one.co_qualname)
        if function is not None and one.co_freevars == function.__code__.co_freevars:
            function.__code__ = one


class Mutation:
    """A pytest plugin that runs the collected tests for each mutant."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.survivors: list[str] = []
        self.count = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        callers = self.callers(session)
        if callers is None:
            pytest.exit("The tests fail without any mutant.", 1)
        for name, first_line, code in mutants(self.path):
            self.count += 1
            places = range(len(session.items)) if first_line is None else callers.get(str(first_line), [])
            if self.passes(session, [session.items[place] for place in places], code):
                self.survivors.append(name)
                print(name, flush=True, file=sys.stderr)
        return True

    def module(self) -> ModuleType:
        return importlib.import_module(self.path.removesuffix(".py").replace("/", "."))

    def callers(self, session: pytest.Session) -> dict[str, list[int]] | None:
        """Return the places of the tests that call each function, by its first line; None if a test fails."""
        file = self.module().__file__
        called: set[int] = set()
        found: dict[int, list[int]] = {}

        def note(frame: FrameType, event: str, argument: object) -> None:
            if frame.f_code.co_filename == file:
                called.add(frame.f_code.co_firstlineno)

        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                threading.settrace(note)
                sys.settrace(note)
                for place, (item, following) in enumerate(pairs(session.items)):
                    called.clear()
                    session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    for line in tuple(called):  # a thread may add to it
                        found.setdefault(line, []).append(place)
                os.write(writer, json.dumps(None if session.testsfailed else found).encode())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as result:
            read: dict[str, list[int]] | None = json.loads(result.read() or "null")
        os.waitpid(child, 0)
        return read

    def passes(self, session: pytest.Session, items: Sequence[pytest.Item], code: CodeType) -> bool:
        child = os.fork()
        if child == 0:
            signal.alarm(MAX_SECONDS)
            status = 1
            try:
                replace_code(self.module(), code)
                for item, following in pairs(items):
                    session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    if session.testsfailed:
                        break
                else:
                    status = 0
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def pairs(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test with the one that follows it."""
    return zip(items, [*items, None][1:], strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=list(TESTS))
    parser.add_argument("--tests", nargs="+")
    options = parser.parse_args()
    os.environ.setdefault("EXAMPLES", "few")
    for path in options.files:
        mutation = Mutation(path)
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            quiet = ["-n", "0", "-q", "--no-header", "-p", "no:cacheprovider", "--show-capture=no", "--tb=no"]
            pytest.main([*quiet, *(options.tests or TESTS[path])], plugins=[mutation])
            noticed = mutation.count - len(mutation.survivors)
            score = f"{noticed} of {mutation.count} mutants noticed" if mutation.count else "the tests fail as it is"
            print(f"{path}: {score}", file=sys.stderr, flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
