import re

from licensing.edge.proxies.files import KINDS
from run import ROOT
from tests.faults.proxies.outages import TABLE, Row
from tests.faults.proxies.visitors import NEWS, SOLD, UNKNOWN, VISITORS, Visitor

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


def row(visitor: Visitor) -> list[str]:
    free, premium, unknown = (str(visitor.status(page)) for page in (NEWS, SOLD, UNKNOWN))
    decided_as = f"`{visitor.requester}`" + (f", elsewhere `{visitor.elsewhere}`" if visitor.elsewhere else "")
    shown = f", `{': '.join(visitor.shown)}`" if visitor.shown else ""
    return [visitor.name, decided_as, free, premium + shown, unknown]


def test_the_table_of_visitors_is_that_of_the_proxy_tests():
    assert table("visitor | decided as") == list(map(row, VISITORS))


def outage(row: Row) -> list[str]:
    cells = [{True: "yes", False: "no", None: "–"}[cell] for cell in (row.open, row.metered, row.licensed)]
    return [row.site, row.visitor, *cells]


def test_the_table_of_outages_is_that_of_the_proxy_tests():
    assert table("site | visitor | open page") == list(map(outage, TABLE))
