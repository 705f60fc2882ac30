"""Filters: every field that a list can be filtered by, with every operator that suits it (docs/api-guide.md).

What is expected follows from the values that the rows have, by the plainest reading of each operator.
"""

import operator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from analytics.models import AccessEvent
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.licenses.services import revoke_license
from licensing.policies.models import Policy
from licensing.sites.models import Site
from tests import factories, ledger
from tests.client import ApiClient
from tests.standing import as_new

COMPARE = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
EQUALITY = ("eq", "ne", "in")
ORDER = ("eq", "ne", "in", "gt", "gte", "lt", "lte")
DAYS = [datetime(2026, 1, day, 12, 30, 15, 250_000, UTC) for day in (1, 2, 3, 4)]
MOMENTS = [day.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for day in DAYS]

# Of each list: its fields, the values that its four rows have (the last one what is not given), and the operators.
CONTENT: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
    "type": (["article", "report", "image", "article"], EQUALITY),
    "status": (["active", "archived", "active", "active"], EQUALITY),
    "externalId": (["a-1", "b 2&=?", "c", None], EQUALITY),
    "policyId": (["{p}", "{q}", "{p}", None], EQUALITY),
    "title": (["Alpha", "Beta [b]", "Gämma", "Delta"], EQUALITY),
    "source": (["https://example.com/a", "https://example.com/b?x=1", "https://example.com/c", None], EQUALITY),
    "created": (MOMENTS, ORDER),
    "updated": (MOMENTS, ORDER),
    "metadata.author": (["Ada", "Bob", "Cleo", None], EQUALITY),
    "metadata.category": (["law", "news", "arts", None], EQUALITY),
    "metadata.publishedAt": (["2020-01-01", "2021-06-15", "2022-12-31", None], ORDER),
    "metadata.wordCount": ([0, 200, 2_147_483_647, None], ORDER),
}
POLICIES: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
    "name": (["Alpha", "Beta", "Gamma", "Delta"], EQUALITY),
    "defaultAction": (["allow", "deny", "allow", "deny"], EQUALITY),
    "mode": (["enforce", "observe", "disabled", "observe"], EQUALITY),
    "version": ([1, 2, 3, 4], ORDER),
    "created": (MOMENTS, ORDER),
    "updated": ([MOMENTS[0], MOMENTS[1], MOMENTS[2], None], ORDER),
}
PAST = [day.replace(month=2) for day in DAYS]
LICENSES: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
    "requesterId": (["org_a", "org b&=", "org_a", "org_d"], EQUALITY),
    "licenseType": (["commercial", "personal", "enterprise", "commercial"], EQUALITY),
    "status": (["expired", "revoked", "expired", "active"], EQUALITY),
    "startsAt": (MOMENTS, ORDER),
    "expiresAt": ([*(day.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for day in PAST[:3]), None], ORDER),
    "created": (MOMENTS, ORDER),
    "updated": (MOMENTS, ORDER),
}
SITES: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
    "host": (["a.example", "b.example", "c.example", "d.example"], EQUALITY),
    "mode": (["enforce", "observe", "disabled", "observe"], EQUALITY),
    "unknown": (["allow", "deny", "allow", "deny"], EQUALITY),
    "created": (MOMENTS, ORDER),
    "updated": (MOMENTS, ORDER),
}
DECISIONS: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "contentId": (["{c}", "{d}", "{c}", "{n}"], EQUALITY),
    "requesterId": (["org_a", "org_b", "org_b", "org_d"], EQUALITY),
    "policyId": (["{p}", "{q}", "{p}", None], EQUALITY),
    "allowed": ([True, False, False, False], EQUALITY),
    "reason": ([None, "policy_denied", "no_license", "no_policy"], EQUALITY),
    "created": (MOMENTS, ORDER),
}
LEDGER: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "type": (["license", "usage", "adjustment", "adjustment"], EQUALITY),
    "currency": (["EUR", "USD", "JPY", "EUR"], EQUALITY),
    "requesterId": (["org_a", "org_b", "org_b", None], EQUALITY),
    "contentId": (["{c}", "{d}", "{c}", None], EQUALITY),
    "licenseId": (["lic_" + "0" * 25 + "1", "lic_" + "0" * 25 + "2", "lic_" + "0" * 25 + "1", None], EQUALITY),
    "licenseType": (["commercial", "press", "commercial", None], EQUALITY),
    "occurredAt": (MOMENTS[::-1], ORDER),
    "created": (MOMENTS, ORDER),
}


TAGS = [["x", "y"], ["y"], ["z"], []]


def filled(value: Any, known: dict[str, str]) -> Any:
    return value.format(**known) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def stocked(for_the_module):
    """An account that stands for the module with four items; what stands in braces above, and its id."""
    with for_the_module():
        account = factories.account()
        return account.pk, four_items(ApiClient(factories.key_text(account)), account)


@pytest.fixture
def account(db, request):
    if "rows_of_content" in request.fixturenames:
        return as_new(request.getfixturevalue("stocked")[0])
    return factories.account()


@pytest.fixture
def rows_of_content(stocked, account):
    return stocked[1]


def four_items(api, account):
    known = {name: factories.policy(account).pk for name in ("p", "q")}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in CONTENT.items()}
        fields = {name: filled(row[name], known) for name in ("externalId", "title", "type", "source", "policyId")}
        metadata = {name.removeprefix("metadata."): value for name, value in row.items() if "metadata" in name}
        given = {name: value for name, value in metadata.items() if value is not None}
        item = api.post("/v1/content", {**fields, "metadata": given, "tags": TAGS[index]})
        known[f"row{index}"] = item["id"]
        api.patch(f"/v1/content/{item['id']}", {"status": row["status"]})
        Content.objects.filter(pk=item["id"]).update(created=DAYS[index], updated=DAYS[index])
    return known


@pytest.fixture
def rows_of_policies(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in POLICIES.items()}
        policy = factories.policy(account, name=row["name"], default_action=row["defaultAction"], mode=row["mode"])
        known[f"row{index}"] = policy.pk
        updated = DAYS[index] if row["updated"] else None
        Policy.objects.filter(pk=policy.pk).update(version=row["version"], created=DAYS[index], updated=updated)
    return known


@pytest.fixture
def rows_of_licenses(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in LICENSES.items()}
        expires_at = PAST[index] if row["expiresAt"] else None
        fields = {"license_type": row["licenseType"], "starts_at": DAYS[index], "expires_at": expires_at}
        held = factories.license(account, row["requesterId"], **fields)
        known[f"row{index}"] = held.pk
        if row["status"] == "revoked":
            revoke_license(held)
        License.objects.filter(pk=held.pk).update(created=DAYS[index], updated=DAYS[index])
    return known


@pytest.fixture
def rows_of_sites(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in SITES.items()}
        site = factories.site(account, **{name: row[name] for name in ("host", "mode", "unknown")})
        known[f"row{index}"] = site.pk
        Site.objects.filter(pk=site.pk).update(created=DAYS[index], updated=DAYS[index])
    return known


@pytest.fixture
def rows_of_decisions(api, account):
    p, q = (factories.policy(account, rule).pk for rule in (factories.ALLOW_LICENSED, factories.DENY_ALL))
    c, d, n = (factories.content(account, policy_id=policy).pk for policy in (p, q, None))
    known = {"p": p, "q": q, "c": c, "d": d, "n": n}
    licensed = {"licenseType": "commercial", "hasValidLicense": True}
    checks = [(c, {"id": "org_a", **licensed}), (d, {"id": "org_b", **licensed}), (c, "org_b"), (n, "org_d")]
    for index, (item, requester) in enumerate(checks):
        made = api.post("/v1/access/check", {"contentId": item, "requester": requester})
        known[f"row{index}"] = made["id"]
        AccessEvent.objects.filter(pk=made["id"]).update(created=DAYS[index])
    return known


@pytest.fixture
def rows_of_the_ledger(account):
    known = {name: factories.content(account).pk for name in ("c", "d")}
    for index in range(4):
        row = {name: filled(values[index], known) for name, (values, _) in LEDGER.items()}
        made = ledger.add(
            account,
            type=row["type"],
            currency=row["currency"],
            requester=row["requesterId"] and ledger.requester(account, row["requesterId"]),
            content_id=row["contentId"],
            license_id=row["licenseId"],
            license_type=row["licenseType"],
            occurred_at=DAYS[3 - index],
            created=DAYS[index],
        )
        known[f"row{index}"] = made.pk
    return known


def is_optional(values: list[Any]) -> bool:
    return None in values


def text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def matches(op: str, value: Any, operand: Any) -> bool:
    match op:
        case "eq":
            return value == operand
        case "ne":
            return value != operand
        case "in":
            return value in operand
        case _:
            return value is not None and COMPARE[op](value, operand)


def found_by(api, path, query, known):
    """The indices of the rows that are found, in the order of the list."""
    reply = api.get(f"{path}?{query}")
    index_of = {known[f"row{index}"]: index for index in range(4)}
    found = [index_of[row["id"]] for row in reply["data"]]
    assert reply["totalCount"] == len(found)
    return found


def check_filter(api, path, fields, name, known):
    values = [filled(value, known) for value in fields[name][0]]
    for op in fields[name][1]:
        operand = [values[1], values[2]] if op == "in" else values[1]
        text = ",".join(map(text_of, operand)) if op == "in" else text_of(operand)
        expected = [index for index in (3, 2, 1, 0) if matches(op, values[index], operand)]
        for spelling in [f"{name}[{op}]", f"{name}%5B{op}%5D", *([name] if op == "eq" else [])]:
            query = f"{spelling}={quote(text)}"
            assert (query, found_by(api, path, query, known)) == (query, expected)
    repeated = "&".join(f"{name}[in]={quote(text_of(value))}" for value in values[1:3])
    assert found_by(api, path, repeated, known) == [row for row in (3, 2, 1, 0) if values[row] in values[1:3]]
    if is_optional(values):
        for asked in (True, False):
            expected = [row for row in (3, 2, 1, 0) if (values[row] is not None) == asked]
            assert found_by(api, path, f"{name}[exists]={text_of(asked)}", known) == expected


@pytest.mark.parametrize("name", CONTENT)
def test_content_can_be_filtered_by(api, rows_of_content, name):
    check_filter(api, "/v1/content", CONTENT, name, rows_of_content)


@pytest.mark.parametrize("name", POLICIES)
def test_policies_can_be_filtered_by(api, rows_of_policies, name):
    check_filter(api, "/v1/policies", POLICIES, name, rows_of_policies)


@pytest.mark.parametrize("name", SITES)
def test_sites_can_be_filtered_by(api, rows_of_sites, name):
    check_filter(api, "/v1/sites", SITES, name, rows_of_sites)


@pytest.mark.parametrize("name", LICENSES)
def test_licences_can_be_filtered_by(api, rows_of_licenses, name):
    check_filter(api, "/v1/licenses", LICENSES, name, rows_of_licenses)


@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_can_be_filtered_by(api, rows_of_decisions, name):
    check_filter(api, "/v1/access/decisions", DECISIONS, name, rows_of_decisions)


@pytest.mark.parametrize("name", LEDGER)
def test_ledger_entries_can_be_filtered_by(api, rows_of_the_ledger, name):
    check_filter(api, "/v1/revenue", LEDGER, name, rows_of_the_ledger)


@pytest.mark.parametrize(
    ("query", "indices"),
    [
        ("tags=y", [1, 0]),
        ("tags[eq]=z", [2]),
        ("tags[ne]=y", [3, 2]),
        ("tags[in]=x,z", [2, 0]),
        ("tags=Y", []),
        ('tags="y"', []),
        ("tags=%25", []),
        ("tags[exists]=true", [2, 1, 0]),
        ("tags[exists]=false", [3]),
    ],
)
def test_content_can_be_filtered_by_a_tag_that_it_has(api, rows_of_content, query, indices):
    assert found_by(api, "/v1/content", query, rows_of_content) == indices


@pytest.mark.parametrize(
    ("query", "indices"),
    [
        ("type=article&status=active", [3, 0]),
        ("created[gte]=2026-01-02&created[lt]=2026-01-04", [2, 1]),
        ("created[gt]=2026-01-02T12:30:15.250Z", [3, 2]),
        ("created[gte]=2026-01-02T14:30:15.250%2B02:00", [3, 2, 1]),
        ("created=2026-01-02", []),
        ("metadata.wordCount[gt]=0&metadata.wordCount[ne]=200", [2]),
        ("metadata.wordCount[gte]=-1", [2, 1, 0]),
        ("type=article&type[ne]=article", []),
        ("title=alpha", []),
        ("title=Al%25", []),
    ],
)
def test_filters_are_joined_by_and(api, rows_of_content, query, indices):
    assert found_by(api, "/v1/content", query, rows_of_content) == indices


@pytest.mark.parametrize(
    ("query", "indices"),
    [
        ("created[lte]=2026-01-02", [1, 0]),
        ("created[gt]=2026-01-02", [3, 2]),
        ("created[lt]=2026-01-02", [0]),
        ("created[gte]=2026-01-02", [3, 2, 1]),
        ("created[gt]=2026-01-02&created[lte]=2026-01-03", [2]),
        ("created[lte]=2026-01-02T00:00:00Z", [0]),
        ("created[gt]=2026-01-02T00:00:00Z", [3, 2, 1]),
        ("created[lte]=9999-12-31", [3, 2, 1, 0]),
        ("created[gt]=9999-12-31", []),
        ("updated[lte]=2026-01-02", [1, 0]),
        ("metadata.publishedAt[lte]=2021-06-15", [1, 0]),
        ("metadata.publishedAt[gt]=2021-06-15", [2]),
    ],
)
def test_a_date_without_a_time_is_that_whole_day_to_lte_and_gt(api, rows_of_content, query, indices):
    assert found_by(api, "/v1/content", query, rows_of_content) == indices


def test_a_day_ends_with_its_last_microsecond(api, rows_of_content):
    Content.objects.filter(pk=rows_of_content["row0"]).update(created=datetime(2026, 3, 1, 23, 59, 59, 999_999, UTC))
    Content.objects.filter(pk=rows_of_content["row1"]).update(created=datetime(2026, 3, 2, tzinfo=UTC))
    assert found_by(api, "/v1/content", "created[lte]=2026-03-01&created[gte]=2026-03-01", rows_of_content) == [0]
    assert found_by(api, "/v1/content", "created[gt]=2026-03-01", rows_of_content) == [1]


@pytest.mark.parametrize(
    "query",
    [
        "type[in]=image,article&type[in]=report",
        "type[in]=report&type[in]=image&type[in]=article",
        "type[in]=article,report,image",
    ],
)
def test_in_takes_commas_repetition_and_both(api, rows_of_content, query):
    assert found_by(api, "/v1/content", query, rows_of_content) == [3, 2, 1, 0]


def test_items_without_a_policy_can_be_found(api, rows_of_content):
    assert found_by(api, "/v1/content", "policyId[exists]=false", rows_of_content) == [3]


@pytest.fixture
def titled(api):
    """Items by their titles, which are prefixes of each other and of unlike case."""

    def made(*titles):
        for title in titles:
            assert api.post("/v1/content", {"title": title, "externalId": f"ext {title}"}).status == 201

    return made


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("Mar", ["Mars", "Markets", "Mar"]),
        ("mar", ["margin"]),
        ("Mark", ["Markets"]),
        ("M%", []),
        ("M_", ["M_x"]),
        ("é", ["été"]),
        ("\ud7ff", ["\ud7ffx"]),
        ("\U0010ffff", ["\U0010ffff!"]),
        ("Zebras", []),
    ],
)
def test_a_text_can_be_found_by_its_beginning(api, titled, prefix, found):
    titled("Mar", "margin", "Markets", "Mars", "M_x", "été", "\ud7ffx", "\ue000x", "\U0010ffff!")
    reply = api.get(f"/v1/content?title[startsWith]={quote(prefix)}")
    assert [item["title"] for item in reply["data"]] == found
    reply = api.get(f"/v1/content?externalId[startsWith]={quote('ext ' + prefix)}")
    assert [item["title"] for item in reply["data"]] == found


def test_an_empty_beginning_is_everythings(api, titled):
    titled("a", "b")
    assert api.get("/v1/content?title[startsWith]=")["totalCount"] == 2
