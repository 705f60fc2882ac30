"""Requests enter few files and functions of the project. `python -m tests.flows` prints what each of them enters."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from django.conf import settings

from tests.flows.measuring import Flow, as_table, measure, profiled

ARCHITECTURE = Path(settings.BASE_DIR, "docs/explanation/architecture.md")
# The most files and functions that a request enters. Lower a bound when you shorten a path.
MOST = {
    "cached check": (33, 149),
    "cold check": (40, 181),
    "batch of 50": (33, 154),
    "check after PATCH": (50, 227),
    "GET item": (36, 133),
    "list of content": (42, 165),
    "list of decisions": (55, 212),
    "PATCH policy": (55, 231),
    "refund": (59, 226),
}


@pytest.fixture(scope="module")
def flows() -> Iterator[Mapping[str, Flow]]:
    with profiled() as client:
        yield measure(client)


def test_requests_enter_few_files_and_functions(flows: Mapping[str, Flow]) -> None:
    for name, (files, functions) in MOST.items():
        assert flows[name].files <= files, f"{name} enters too many files\n{as_table(flows)}"
        assert flows[name].functions <= functions, f"{name} enters too many functions\n{as_table(flows)}"


def test_a_cached_check_enters_what_the_document_lists_in_its_order(flows: Mapping[str, Flow]) -> None:
    section = ARCHITECTURE.read_text().partition("### From socket to socket")[2].partition("\n#")[0]
    listed = re.findall(r"(?m)^\| `([^`]+)` \| `([^`]+)` \|", section)
    files = [file for file, _ in listed]
    assert (len(set(files)), max(map(files.count, files))) == (19, 3), "The document says so above the table."
    left = iter(flows["cached check"].calls)
    assert [entrance for entrance in listed if entrance not in left] == []
