from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from licensing.content.models import Content
from tests import factories
from tests.client import ApiClient
from tests.conventions.filtering import DAYS, FIELDS, check_filter, filled, found_by
from tests.standing import as_new

CONTENT = FIELDS["/v1/content"]
TAGS = [["x", "y"], ["y"], ["z"], []]


@pytest.fixture(scope="module")
def stocked(for_the_module):
    """A module-scoped account with four items, and ids by placeholder name."""
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


@pytest.mark.parametrize("name", CONTENT)
def test_content_can_be_filtered_by(api, rows_of_content, name):
    check_filter(api, "/v1/content", CONTENT, name, rows_of_content)


def test_content_is_found_by_tags_dates_and_several_filters(api, rows_of_content):
    for query, indices in (
        ("tags=y", [1, 0]), ("tags[eq]=z", [2]), ("tags[ne]=y", [3, 2]), ("tags[in]=x,z", [2, 0]), ("tags=Y", []),
        ('tags="y"', []), ("tags=%25", []), ("tags[exists]=true", [2, 1, 0]), ("tags[exists]=false", [3]),
    ):  # fmt: skip
        assert found_by(api, "/v1/content", query, rows_of_content) == indices
    for query, indices in (
        ("type=article&status=active", [3, 0]), ("created[gte]=2026-01-02&created[lt]=2026-01-04", [2, 1]),
        ("created[gt]=2026-01-02T12:30:15.250Z", [3, 2]), ("created[gte]=2026-01-02T14:30:15.250%2B02:00", [3, 2, 1]),
        ("created=2026-01-02", []), ("metadata.wordCount[gt]=0&metadata.wordCount[ne]=200", [2]),
        ("metadata.wordCount[gte]=-1", [2, 1, 0]), ("type=article&type[ne]=article", []), ("title=alpha", []),
        ("title=Al%25", []),
    ):  # fmt: skip
        assert found_by(api, "/v1/content", query, rows_of_content) == indices
    for query, indices in (
        ("created[lte]=2026-01-02", [1, 0]), ("created[gt]=2026-01-02", [3, 2]), ("created[lt]=2026-01-02", [0]),
        ("created[gte]=2026-01-02", [3, 2, 1]), ("created[gt]=2026-01-02&created[lte]=2026-01-03", [2]),
        ("created[lte]=2026-01-02T00:00:00Z", [0]), ("created[gt]=2026-01-02T00:00:00Z", [3, 2, 1]),
        ("created[lte]=9999-12-31", [3, 2, 1, 0]), ("created[gt]=9999-12-31", []), ("updated[lte]=2026-01-02", [1, 0]),
        ("metadata.publishedAt[lte]=2021-06-15", [1, 0]), ("metadata.publishedAt[gt]=2021-06-15", [2]),
    ):  # fmt: skip
        assert found_by(api, "/v1/content", query, rows_of_content) == indices
    for query in (
        "type[in]=image,article&type[in]=report",
        "type[in]=report&type[in]=image&type[in]=article",
        "type[in]=article,report,image",
    ):
        assert found_by(api, "/v1/content", query, rows_of_content) == [3, 2, 1, 0]
    assert found_by(api, "/v1/content", "policyId[exists]=false", rows_of_content) == [3]
    Content.objects.filter(pk=rows_of_content["row0"]).update(created=datetime(2026, 3, 1, 23, 59, 59, 999_999, UTC))
    Content.objects.filter(pk=rows_of_content["row1"]).update(created=datetime(2026, 3, 2, tzinfo=UTC))
    assert found_by(api, "/v1/content", "created[lte]=2026-03-01&created[gte]=2026-03-01", rows_of_content) == [0]
    assert found_by(api, "/v1/content", "created[gt]=2026-03-01", rows_of_content) == [1]


@pytest.fixture
def titled(api):
    """Return a function that creates items by title."""

    def made(*titles):
        for title in titles:
            assert api.post("/v1/content", {"title": title, "externalId": f"ext {title}"}).status == 201

    return made


def test_a_text_can_be_found_by_its_beginning_and_an_empty_one_is_everythings(api, titled):
    titled("Mar", "margin", "Markets", "Mars", "M_x", "été", "\ud7ffx", "\ue000x", "\U0010ffff!")
    for prefix, found in [
        ("Mar", ["Mars", "Markets", "Mar"]), ("mar", ["margin"]), ("Mark", ["Markets"]), ("M%", []), ("M_", ["M_x"]),
        ("é", ["été"]), ("\ud7ff", ["\ud7ffx"]), ("\U0010ffff", ["\U0010ffff!"]), ("Zebras", []),
    ]:  # fmt: skip
        assert [item["title"] for item in api.get(f"/v1/content?title[startsWith]={quote(prefix)}")["data"]] == found
        reply = api.get(f"/v1/content?externalId[startsWith]={quote('ext ' + prefix)}")
        assert [item["title"] for item in reply["data"]] == found, prefix
    assert api.get("/v1/content?title[startsWith]=")["totalCount"] == 9
