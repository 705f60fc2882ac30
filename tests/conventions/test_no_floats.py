import ast
from pathlib import Path

from django.conf import settings

from analytics.ledger.entries import add_entries
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


def is_float(node):
    """Return whether a node of the syntax tree makes or reads a float, in Python or in SQL."""
    match node:
        case ast.Name():
            return node.id == "float"
        case ast.Constant():
            return isinstance(node.value, float) or any(word in SQL_FLOATS for word in words(node))
        case ast.Attribute():
            return node.attr in ("FloatField", "Avg")
        case ast.BinOp():
            return isinstance(node.op, ast.Div)
    return False


def test_modules_of_money_have_no_float():
    modules = sorted({path for path in MONEY if path.suffix == ".py" and path.stem != "examples"})
    assert len(modules) > 50
    floats = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules
        for node in ast.walk(ast.parse(path.read_text()))
        if is_float(node)
    ]
    assert floats == []


def test_a_tenth_added_three_thousand_times_is_three_hundred(api: ApiClient, account):
    for _ in range(3):
        add_entries([ledger.entry(account, "0.1") for _ in range(1000)])
    assert b'"total":300,' in api.get("/v1/analytics/revenue", startDate="2026-03-04", endDate="2026-03-04").content
