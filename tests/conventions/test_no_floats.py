"""Money never passes through a float (docs/reference/reports.md)."""

import ast
from pathlib import Path

import pytest
from django.conf import settings

from analytics.ledger import entries as service
from tests import ledger
from tests.client import ApiClient

ROOT = Path(settings.BASE_DIR)
MONEY = [
    *(
        ROOT / "kit" / name
        for name in ("values/amounts.py", "values/decimals.py", "values/currencies.py", "rest/money.py")
    ),
    *(path for name in ("*ledger*", "*revenue*", "*rate*") for path in (ROOT / "analytics").rglob(name)),
    *(
        path
        for name in ("ledger", "rates", "recording", "revenue", "rollups", "statements")
        for path in (ROOT / "analytics" / name).iterdir()
    ),
    *(ROOT / "licensing" / "licenses").iterdir(),
]

SQL_FLOATS = {"double", "float", "float8", "real"}


def words(node):
    """Return the words of the SQL in a string constant."""
    return node.value.lower().replace("::", " ").split() if isinstance(node.value, str) and "%s" in node.value else []


@pytest.mark.parametrize(
    "path",
    sorted({path for path in MONEY if path.suffix == ".py" and path.stem != "examples"}),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_module_of_money_has_no_float(path):
    for node in ast.walk(ast.parse(path.read_text())):
        assert not (isinstance(node, ast.Name) and node.id == "float"), node.lineno
        assert not (isinstance(node, ast.Constant) and any(word in SQL_FLOATS for word in words(node))), node.lineno
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), node.lineno
        assert not (isinstance(node, ast.Attribute) and node.attr in ("FloatField", "Avg")), node.lineno
        assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)), node.lineno


def test_a_tenth_added_three_million_times_is_three_hundred_thousand(api: ApiClient, account):
    thousand = service.totals("tier", [ledger.entry(account, "0.1") for _ in range(1000)])
    for _ in range(3000):
        service.add_totals("tier", thousand)
    body = api.get("/v1/analytics/revenue", startDate="2026-03-04", endDate="2026-03-04").content
    assert b'"total":300000,' in body
