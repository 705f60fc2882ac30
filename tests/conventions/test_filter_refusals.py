from urllib.parse import quote

import pytest

from tests import factories
from tests.conventions.filtering import FIELDS, ORDER, is_optional
from tests.conventions.replies import assert_parameter_refused

LISTS = {**FIELDS, "/v1/content": {**FIELDS["/v1/content"], "tags": ([], ("eq", "ne", "in"))}}
UNKNOWN = [
    "tittle", "Title", "TYPE", "metadata", "metadata.tags", "metadata.isbn", "stats.totalRequests", "account",
    "account_id", "account__name", "deleted_at", "policy__name", "title__contains", "created_at", "pk", "object",
    "description", "rules", "created[", "created[]", "created]", "[created]", "[]", "", "created[gte",
    "created[GTE]", "created[gte][lt]", "created[gte ]", "created[regex]", "created[isnull]", "created[like]",
    "created[exact]", "created.gte", "created__gte", "limit[gte]", "cursor[eq]", "offset", "page", "sort", "search",
]  # fmt: skip


@pytest.mark.parametrize("path", LISTS)
def test_a_list_refuses_filters_and_operators_that_it_does_not_have(api, path):
    for name in UNKNOWN:
        assert_parameter_refused(api.get(f"{path}?{quote(name)}=x"), name)
    for name, (_, operators) in LISTS[path].items():
        for op in set(ORDER) - set(operators):
            assert_parameter_refused(api.get(f"{path}?{name}[{op}]=1"), f"{name}[{op}]")
    for name, (values, _) in LISTS[path].items():
        if values and not is_optional(values):
            assert_parameter_refused(api.get(f"{path}?{name}[exists]=true"), f"{name}[exists]")


def test_values_that_cannot_be_read_repeated_or_matched_by_prefix_are_refused(api):
    for name in ("type[startsWith]", "source[startsWith]", "tags[startsWith]", "id[startsWith]"):
        assert_parameter_refused(api.get(f"/v1/content?{name}=a"), name)
    for query in ("type=image&type=image", "type[ne]=image&type[ne]=report", "title=a&title=b"):
        assert_parameter_refused(api.get(f"/v1/content?{query}"), query.partition("=")[0])
    assert_parameter_refused(api.get("/v1/content?type[in]=image&type[in]=book"), "type[in]")
    assert_parameter_refused(api.get("/v1/content?type[in]=book&type[in]=image"), "type[in]")
    assert_parameter_refused(api.get("/v1/content?title[in]=%00&title[in]=a"), "title[in]")
    for path, name, value in (
        ("/v1/content", "type", "book"), ("/v1/content", "type", ""), ("/v1/content", "type", "article,report"),
        ("/v1/content", "type[in]", "article,book"), ("/v1/content", "type[in]", "article,"),
        ("/v1/content", "type[in]", "article, report"), ("/v1/content", "status", "deleted"),
        ("/v1/content", "id", "pol_" + "0" * 26), ("/v1/content", "id[in]", "x"), ("/v1/content", "policyId", "null"),
        ("/v1/content", "policyId[exists]", ""), ("/v1/content", "policyId[exists]", "1"),
        ("/v1/content", "policyId[exists]", "True"), ("/v1/content", "title[startsWith]", "a\0"),
        ("/v1/content", "created", "yesterday"), ("/v1/content", "created[gte]", ""),
        ("/v1/content", "created[gte]", "2026-01-01T00:00:00"), ("/v1/content", "created[gte]", "2026-02-30"),
        ("/v1/content", "created[gte]", "1767225600"), ("/v1/content", "created[in]", "2026-01-01,x"),
        ("/v1/content", "created[gte]", "0001-01-01T00:00:00+14:00"),
        ("/v1/content", "metadata.publishedAt", "2026-1-1"),
        ("/v1/content", "metadata.publishedAt[lt]", "2026-01-01T00:00:00Z"),
        ("/v1/content", "metadata.wordCount", "12.0"), ("/v1/content", "metadata.wordCount", "many"),
        ("/v1/content", "metadata.wordCount[gt]", ""), ("/v1/content", "metadata.wordCount[gt]", "1e3"),
        ("/v1/content", "metadata.wordCount[gt]", "９"), ("/v1/content", "metadata.wordCount[gt]", "9" * 5000),
        ("/v1/content", "title", "a\0b"), ("/v1/content", "tags[in]", "a,\0"),
        ("/v1/policies", "defaultAction", "maybe"), ("/v1/policies", "version", "x"),
        ("/v1/access/decisions", "allowed", "True"), ("/v1/access/decisions", "allowed", "1"),
        ("/v1/access/decisions", "allowed[in]", "true,1"), ("/v1/access/decisions", "reason", "bored"),
        ("/v1/access/decisions", "contentId", "x"),
    ):  # fmt: skip
        assert_parameter_refused(api.get(f"{path}?{name}={quote(value)}"), name)


def test_numbers_and_times_that_no_row_has_are_valid(api):
    for number in ("9999999999", "-9999999999", "2147483648"):
        for op in ("eq", "gt" if number[0] != "-" else "lt"):
            reply = api.get(f"/v1/content?metadata.wordCount[{op}]={number}")
            assert (reply.status, reply["totalCount"]) == (200, 0)
    for year in ("0001-01-01", "9999-12-31T23:59:59.999999Z"):
        for op in ORDER:
            assert api.get(f"/v1/content?created[{op}]={year}").status == 200


def test_in_takes_up_to_100_values(api):
    def answer(count):
        return api.get(f"/v1/content?title[in]={','.join(f't{n}' for n in range(count))}")

    assert answer(100).status == 200
    assert_parameter_refused(answer(101), "title[in]")
    repeated = "&".join(f"title[in]=t{n}" for n in range(101))
    assert_parameter_refused(api.get(f"/v1/content?{repeated}"), "title[in]")


def test_a_backslash_keeps_the_comma_of_a_value(api, account):
    titles = ["a,b", "a", "b", "c\\", "d\\,e", ",", "\\"]
    for title in titles:
        factories.content(account, title=title)

    def found(*values):
        query = "&".join(f"title[in]={quote(value)}" for value in values)
        return sorted(one["title"] for one in api.get(f"/v1/content?{query}")["data"])

    assert found("a,b") == ["a", "b"]
    assert found(r"a\,b") == ["a,b"]
    assert found("b,a\\,b,c\\") == ["a,b", "b", "c\\"]
    assert found(*(title.replace(",", r"\,") for title in titles)) == sorted(titles)


@pytest.mark.parametrize("path", ["/v1/api-keys", "/v1/policies/{policy}/versions"])
def test_lists_without_filters_refuse_them_all(api, ids, path):
    for name in ("name", "created", "createdAt[gte]", "version"):
        assert_parameter_refused(api.get(f"{path.format(**ids)}?{name}=1"), name)
