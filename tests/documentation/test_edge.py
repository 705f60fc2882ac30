"""Tables of the edge's reference equal what the service and its tests use."""

import re

from licensing.edge.proxies.files import KINDS
from run import ROOT

EDGE = ROOT / "docs" / "reference" / "edge.md"


def table(heading: str) -> list[list[str]]:
    """Return the cells of each row of the first table whose header begins so."""
    _, _, rest = EDGE.read_text().partition(f"\n| {heading} ")
    assert rest, f"There is no table {heading!r}."
    rows = rest.split("\n\n")[0].split("\n")[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_texts_to_replace_are_those_of_the_files():
    printed = [[re.findall("`([^`]+)`", cell)[0] for cell in row] for row in table("`for` | service's address")]
    assert printed == [[name, kind.service, kind.origin, kind.key] for name, kind in KINDS.items()]
