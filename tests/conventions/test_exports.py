"""Lists and reports as CSV and JSON Lines."""

import csv
import gc
import io
import json
import tracemalloc
from statistics import median

import pytest
from django.db import OperationalError

from analytics.models import AccessEvent
from kit.rest import export
from kit.rest.export import cell, csv_bytes, harmless
from tests import factories
from tests.analytics.recording import record_all, some_events, utc

LISTS = [
    "/v1/access/decisions",
    "/v1/revenue",
    "/v1/content",
    "/v1/policies",
    "/v1/licenses",
    "/v1/sites",
    "/v1/audit",
    "/v1/events",
    "/v1/wallets",
    "/v1/payments",
    "/v1/api-keys",
]
EXPORTS = [*LISTS, "/v1/analytics/usage", "/v1/analytics/revenue"]
every_export = pytest.mark.parametrize("path", EXPORTS)


@pytest.fixture
def decisions(api, account):
    """Five decisions, two of them by a requester whose name is a formula."""
    item = factories.content(account)
    for requester in ("org_1", {"id": "=1+1", "name": '=HYPERLINK("http://x")'}, "org_2", {"id": "=1+1"}, "org_3"):
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": requester}).status == 200
    return api.get("/v1/access/decisions")["data"]


def table(reply):
    return list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))


@every_export
@pytest.mark.parametrize(
    ("options", "media"),
    [
        ({"format": "csv"}, "text/csv; charset=utf-8"),
        ({"format": "jsonl"}, "application/jsonl; charset=utf-8"),
        ({"headers": {"Accept": "text/csv"}}, "text/csv; charset=utf-8"),
        ({"headers": {"Accept": "text/html, application/x-ndjson;q=0.9"}}, "application/jsonl; charset=utf-8"),
        ({"headers": {"Accept": "text/csv;q=0, */*"}}, "application/json"),
        ({"headers": {"Accept": "text/csv"}, "format": "json"}, "application/json"),
        ({}, "application/json"),
    ],
)
def test_the_format_is_the_one_asked_for(api, path, options, media):
    reply = api.get(path, **options)
    assert (reply.status, reply.headers["Content-Type"]) == (200, media)
    if media != "application/json":
        assert reply.headers["Content-Disposition"].startswith("attachment; filename=")
        assert reply.headers["X-RateLimit-Remaining"]


@every_export
def test_errors_of_exports_are_json(api, anonymous, path):
    assert anonymous.get(path, format="csv").error["code"] == "missing_api_key"
    assert api.get(path, format="xml").error["param"] == "format"
    reply = api.get(path, nonsense="1", headers={"Accept": "text/csv"})
    assert (reply.status, reply.error["param"]) == (400, "nonsense")


@pytest.mark.parametrize("path", LISTS)
def test_a_file_begins_at_no_cursor(api, path):
    assert api.get(f"{path}?format=csv&cursor=1").error["param"] == "cursor"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_the_limit_that_clients_send_with_every_list_does_not_cut_a_file(api, decisions, form):
    whole = api.get("/v1/access/decisions", format=form)
    assert api.get("/v1/access/decisions", format=form, limit=2).content == whole.content


@pytest.mark.parametrize("limit", ["0", "101", "x"])
def test_invalid_limits_of_exports_are_refused(api, limit):
    assert api.get("/v1/access/decisions", format="csv", limit=limit).error["param"] == "limit"


def test_a_file_is_sorted_as_the_list_is(api, decisions):
    rows = table(api.get("/v1/access/decisions", format="csv", sort="created"))
    assert [row["id"] for row in rows] == [one["id"] for one in decisions][::-1]


def test_other_lists_are_json_alone(api):
    assert api.get("/v1/webhooks", format="csv").error["param"] == "format"
    assert api.get("/v1/webhooks", headers={"Accept": "text/csv"}).headers["Content-Type"] == "application/json"


def test_a_file_of_resources_has_each_as_its_list_does(api):
    rules = [{"action": "allow", "conditions": {"default": True}}]
    policy = api.post("/v1/policies", {"name": "Open", "rules": rules})
    item = api.post("/v1/content", {"title": "Item", "policyId": policy["id"], "metadata": {"author": "Ada"}})
    price = {"amount": 0.1, "currency": "USD"}
    api.post("/v1/licenses", {"requesterId": "org_1", "licenseType": "pro", "price": price})
    api.post("/v1/sites", {"host": "pub.example"})
    for path in LISTS:
        lines = [json.loads(line) for line in api.get(path, format="jsonl").content.splitlines()]
        assert lines == api.get(path, limit=100)["data"], path
    [row] = table(api.get("/v1/content", format="csv"))
    assert (row["id"], json.loads(row["metadata"])) == (item["id"], {"author": "Ada"})
    [row] = table(api.get("/v1/content", format="csv", expand="policy"))
    assert (row["policy.name"], json.loads(row["policy.rules"])) == ("Open", rules)
    [row] = table(api.get("/v1/licenses", format="csv"))
    assert (row["price.amount"], row["price.currency"]) == ("0.1", "USD")
    [row] = table(api.get("/v1/policies", format="csv", fields="rules"))
    assert json.loads(row["rules"]) == rules


def test_the_files_of_a_wallet_have_its_grants_and_entries_as_they_are_now(api, account):
    api.post("/v1/requesters", {"id": "org_acme", "name": "Acme"})
    wallet = f"/v1/wallets/{factories.wallet(account, requester_id='org_acme', amount=3)['wallet']}"
    api.post(f"{wallet}/grants", {"amount": 2, "paid": {"amount": "1.50", "currency": "EUR"}})
    gift = api.post(f"{wallet}/grants", {"amount": 1, "kind": "promotional"})["id"]
    api.post(f"{wallet}/grants/{gift}/void")
    for path in (f"{wallet}/grants", f"{wallet}/entries"):
        lines = [json.loads(line) for line in api.get(path, format="jsonl").content.splitlines()]
        assert lines == api.get(path)["data"]
        rows = table(api.get(path, format="csv"))
        assert [row["id"] for row in rows] == [line["id"] for line in lines]
        first = rows[0]["id"]
        rest = api.get(path, format="csv", after=first).content.decode().splitlines()
        assert [line.partition(",")[0].strip('"') for line in rest] == [row["id"] for row in rows[1:]]
    rows = table(api.get(f"{wallet}/grants", format="csv"))
    assert [row["paid.amount"] for row in rows] == ["", "1.5", ""]
    [row] = table(api.get("/v1/wallets", format="csv"))
    assert (row["requesterId"], row["requesterName"], row["balance"]) == ("org_acme", "Acme", "5")


def test_each_cell_of_a_table_has_the_value_that_the_list_shows(api, account, decisions):
    priced = {"licenseType": "commercial", "pricePerAccess": {"amount": 0.05, "currency": "USD"}}
    assert api.post("/v1/licenses", {"requesterId": "org_1", **priced}).status == 201
    item = factories.content(account, policy_id=factories.policy(account).pk)
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_1"})["charge"]["amount"] == 0.05
    assert api.post("/v1/sites", {"host": "pub.example"}).status == 201
    factories.wallet(account, requester_id="org_1")
    factories.payment(account, requester_id="org_1")
    for path in LISTS:
        shown = api.get(path, limit=100)["data"]
        rows = table(api.get(path, format="csv"))
        assert len(rows) == len(shown) > 0, path
        for row, resource in zip(rows, shown, strict=True):
            assert set(resource) - {"object"} <= {column.partition(".")[0] for column in row}, path
            for column, found in row.items():
                name, _, member = column.partition(".")
                value = resource.get(name)
                if member:
                    value = value.get(member) if isinstance(value, dict) else None
                if not isinstance(value, str):
                    value = "" if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
                assert found == harmless(value), (path, column)


@every_export
def test_head_answers_as_get_does_without_a_body(api, path):
    reply = api.request("HEAD", path, format="csv")
    assert (reply.status, reply.content) == (200, b"")
    assert reply.headers["Content-Type"] == "text/csv; charset=utf-8"


def test_a_file_of_lines_has_the_objects_of_the_list(api, decisions):
    lines = api.get("/v1/access/decisions", format="jsonl").content.splitlines()
    assert [json.loads(line) for line in lines] == decisions


def test_a_table_has_the_fields_of_objects_in_columns_of_their_own(api, decisions):
    rows = table(api.get("/v1/access/decisions", format="csv"))
    assert [row["id"] for row in rows] == [one["id"] for one in decisions]
    assert {row["reason"] for row in rows} == {"no_policy"}
    assert (rows[0]["requester.id"], rows[0]["allowed"], rows[0]["matchedRule.index"]) == ("org_3", "false", "")


def test_a_table_runs_no_formulas(api, decisions):
    cells = [cell for row in table(api.get("/v1/access/decisions", format="csv")) for cell in row.values()]
    assert "'=1+1" in cells
    assert [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@"))] == []


def test_filters_apply(api, decisions):
    assert len(table(api.get("/v1/access/decisions", format="csv", requesterId="=1+1"))) == 2
    assert table(api.get("/v1/access/decisions", format="csv", allowed="true")) == []


def test_another_accounts_rows_are_not_in_it(other_api, decisions):
    assert table(other_api.get("/v1/access/decisions", format="csv")) == []


def test_a_file_costs_one_request(api, decisions):
    before = int(api.get("/v1/content").headers["X-RateLimit-Remaining"])
    assert int(api.get("/v1/access/decisions", format="csv").headers["X-RateLimit-Remaining"]) == before - 1


def test_a_report_is_a_table_of_all_its_lists(api, decisions):
    report = api.get("/v1/analytics/usage", period="7d").body
    rows = table(api.get("/v1/analytics/usage", period="7d", format="csv"))
    assert [row["list"] for row in rows] == [
        "summary",
        *["timeSeries"] * 7,
        "topContent",
        *["topRequesters"] * 4,
        "byDenialReason",
    ]
    assert rows[0]["totalRequests"] == str(report["summary"]["totalRequests"])
    assert [row["requests"] for row in rows[1:8]] == [str(bucket["requests"]) for bucket in report["timeSeries"]]
    assert rows[-1]["reason"] == report["byDenialReason"][0]["reason"]


def test_the_revenue_report_keeps_its_exact_amounts(api):
    sale = {"amount": "999999999999.999999", "currency": "USD", "licenseType": "press", "description": "Sale"}
    assert api.post("/v1/revenue", sale).status == 201
    rows = table(api.get("/v1/analytics/revenue", period="7d", format="csv"))
    assert [(row["id"], row["revenue"]) for row in rows if row["list"] == "byLicenseType"] == [
        ("press", "1000000000000")
    ]
    [entry] = table(api.get("/v1/revenue", format="csv"))
    assert entry["amount"] == "999999999999.999999"


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", " =1", "\tx", "\u3000=1", "＝1"])
def test_a_text_that_a_spreadsheet_would_run_is_made_harmless(text):
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "exported"),
    [
        ("x;=cmd|'/C calc'!A0", "x;'=cmd|'/C calc'!A0"),
        ("x\t =1", "x\t '=1"),
        ("\n=1", "'\n'=1"),
        ('x;"=1', "x;\"'=1"),
        (["x;=1"], '["x;\'=1"]'),
    ],
)
def test_no_separator_makes_a_formula_of_a_text(text, exported):
    assert cell(text) == exported
    file = csv_bytes([["a", cell(text), "b"]]).decode()
    assert next(csv.reader(io.StringIO(file, newline=""))) == ["a", exported, "b"]
    for separator in (";", "\t"):
        cells = [one for row in csv.reader(io.StringIO(file, newline=""), delimiter=separator) for one in row]
        assert not [one for one in cells if one.lstrip().startswith(("=", "+", "-", "@"))]


def test_all_texts_are_quoted_and_numbers_are_not():
    row = map(cell, ["a", -5, "1.50", True, None, 'b"c', ["d"]])
    assert csv_bytes([["name"], row, [""]]) == b'"name"\r\n"a",-5,1.50,true,,"b""c","[""d""]"\r\n""\r\n'


def test_a_csv_file_begins_with_a_byte_order_mark_on_request(api, account):
    items = [factories.content(account, title=title) for title in ("Über", "Zwei")]
    plain, marked = (api.get("/v1/content", format="csv", sort="created", bom=bom) for bom in ("false", "true"))
    assert marked.content == b"\xef\xbb\xbf" + plain.content
    rest = api.get("/v1/content", format="csv", sort="created", bom="true", after=items[0].pk).content
    assert (plain.content.endswith(rest), rest[:5]) == (True, b'"cnt_')
    for query in ({"bom": "true"}, {"bom": "true", "format": "jsonl"}, {"bom": "yes", "format": "csv"}):
        assert api.get("/v1/content", **query).error["param"] == "bom"


@pytest.mark.parametrize("text", ["", "Acme", "-5", "+5", "-12.50", "a=b", "1-2", "'=1"])
def test_any_other_text_stays_as_it_is(text):
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("value", "text"), [(-5, "-5"), (1.5, "1.5"), (True, "true"), (None, ""), (["a", "=b"], '["a","=b"]')]
)
def test_a_number_stays_one(value, text):
    assert cell(value) == text


def test_a_file_has_every_row_once_across_chunks(api, account, monkeypatch):
    monkeypatch.setattr("kit.rest.lists.mixin.CHUNK", 7)
    record_all(some_events(account, 100, utc("2026-01-01"), 2, seed=1))
    ids = [row["id"] for row in table(api.get("/v1/access/decisions", format="csv"))]
    assert (len(ids), set(ids)) == (100, set(AccessEvent.objects.values_list("pk", flat=True)))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(api, account, monkeypatch):
    monkeypatch.setattr("kit.rest.lists.mixin.CHUNK", 50)
    record_all(some_events(account, 3_000, utc("2026-01-01"), 2, seed=1))
    path = "/v1/access/decisions?format=csv"

    response = api.client.get(path, headers=api.headers)
    sizes, kept = [], []  # of each part, and what was in memory after it, in bytes
    gc.collect()
    gc.freeze()  # otherwise each collection scans everything that Django has loaded
    tracemalloc.start()
    try:
        for part in response.streaming_content:
            sizes.append(len(part))
            gc.collect()  # measures kept objects, not garbage
            kept.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # The first parts fill caches. Medians, because other threads' memory is counted, too.
    assert len(sizes) >= 60
    growth = median(kept[-10:]) - median(kept[10:20])
    assert growth < sum(sizes[20:-10]) / 2


def test_a_client_that_goes_away_ends_the_queries(for_nobody):
    asked = []

    def chunks():
        for number in range(10):
            asked.append(number)
            yield [{"id": number}]

    assert list(export.while_wanted(chunks())) == []
    assert asked == [0]


@pytest.mark.parametrize(
    ("spent", "others", "seconds"),
    [(1.0, 0.0, 0.0), (1.0, 0.05, 0.0), (1.0, 0.075, 0.5), (1.0, 0.1, 1.0), (1.0, 5.0, 1.0), (0.5, 0.05, 0.5)],
)
def test_an_export_pauses_for_as_long_as_it_computes_if_others_are_busy(spent, others, seconds):
    assert export.pause(spent, others) == pytest.approx(seconds)


def test_a_database_that_fails_at_once_is_an_ordinary_error(api, monkeypatch):
    def fail(*args, **options):
        raise OperationalError("gone")

    monkeypatch.setattr("kit.rest.lists.windows.WindowedPagination.read", fail)
    assert api.get("/v1/access/decisions", format="csv").status == 503
