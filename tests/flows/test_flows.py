"""Requests enter few files and functions of the project. `python -m tests.flows` prints what each of them enters."""

from collections.abc import Iterator, Mapping

import pytest

from tests.flows.measuring import Flow, as_table, measure, profiled

# The most files and functions that a request enters. Lower a bound when you shorten a path.
MOST = {
    "cached check": (33, 149),
    "cold check": (40, 181),
    "batch of 50": (33, 154),
    "check after PATCH": (50, 227),
    "GET item": (35, 133),
    "list of content": (41, 165),
    "list of decisions": (55, 212),
    "PATCH policy": (55, 231),
    "refund": (57, 226),
}


@pytest.fixture(scope="module")
def flows() -> Iterator[Mapping[str, Flow]]:
    with profiled() as client:
        yield measure(client)


def test_requests_enter_few_files_and_functions(flows: Mapping[str, Flow]) -> None:
    for name, (files, functions) in MOST.items():
        assert flows[name].files <= files, f"{name} enters too many files\n{as_table(flows)}"
        assert flows[name].functions <= functions, f"{name} enters too many functions\n{as_table(flows)}"
