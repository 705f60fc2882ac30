from functools import partial

import pytest
from django.urls import reverse

from accounts.models import AuditEntry
from licensing.content.models import Content
from operators.base.links import change_url, list_url
from tests import factories
from tests.admin.forms import open_form, submit

ADD = reverse("admin:licensing_content_add")


def listed(client, **query):
    reply = client.get(list_url(Content, **query))
    assert reply.status_code == 200
    return [str(item) for item in reply.context["cl"].result_list]


@pytest.fixture
def items(account):
    factories.content(account, title="The annual report's summary", external_id="2026/a-1", category="finance")
    factories.content(account, title="Weather map", type="image", external_id="2026/b-2")
    factories.content(account, title="100% cotton", external_id="x_1", status="archived")


def test_items_are_found_by_ids_words_and_filters(admin, items, account):
    for term, found in (
        ("annual", ["The annual report's summary"]),
        ("ANN rep", ["The annual report's summary"]),
        ("report's", ["The annual report's summary"]),
        ("nual", []),
        ("2026/", ["Weather map", "The annual report's summary"]),
        ("2026/b-2", ["Weather map"]),
        ("026", []),
        ("x_", ["100% cotton"]),
        ("x%", []),
        ("annual weather", []),
        ("'", []),
        ("\\", []),
        ("& | ! ( :*", []),
    ):
        assert listed(admin, q=term) == found
    item = Content.objects.get(title="Weather map")
    assert listed(admin, q=f" {item.pk} ") == ["Weather map"]
    for query, found in (
        ({"status__exact": "archived"}, ["100% cotton"]),
        ({"type__exact": "image"}, ["Weather map"]),
        ({"category": "finance"}, ["The annual report's summary"]),
        ({"category": "fin"}, []),
    ):
        assert listed(admin, **query) == found
    policy = factories.policy(account)
    item = factories.content(account, title="Linked", policy_id=policy.pk)
    assert listed(admin, policy__id__exact=policy.pk) == [str(item)]


def test_an_item_is_added_as_the_api_would_show_it(admin, account, api):
    reply = submit(
        admin,
        ADD,
        account=account.pk,
        title="New",
        type="report",
        external_id="n-1",
        source="https://example.com/n",
        tags="one\n two \n",
        author="Ann",
        published_at="2026-02-03",
        word_count="12",
        metadata_extra='{"edition": 2}',
    )
    assert reply.status_code == 302, reply.context["errors"]
    [shown] = api.get("/v1/content").body["data"]
    assert (shown["title"], shown["type"], shown["externalId"], shown["status"]) == ("New", "report", "n-1", "active")
    assert shown["tags"] == ["one", "two"]
    assert shown["metadata"] == {"author": "Ann", "publishedAt": "2026-02-03", "wordCount": 12, "edition": 2}


def test_values_that_the_api_refuses_are_reported_at_their_fields(admin, account, items, other_account):
    send = partial(open_form(admin, ADD), account=account.pk, title="New")
    for field, value, message in (
        ("source", "ftp://example.com", "Must be an http(s) URL"),
        ("external_id", "2026/a-1", "There is an item with the externalId"),
        ("metadata_extra", '{"a b": 1}', "A key has 1 to 64 of"),
        ("metadata_extra", "[1]", "Must be a JSON object."),
        ("metadata_extra", "{", "This is not JSON"),
        ("metadata_extra", '{"a": "\\ud800"}', "This has half of a surrogate pair"),
        ("metadata_extra", '{"a": "\\u0000"}', "must not contain the character U+0000"),
        ("metadata_extra", '{"a": NaN}', "This is not JSON: it has NaN"),
        ("metadata_extra", '{"a": 1e400}', "This has a number that is too large"),
        ("metadata_extra", '{"a": 9223372036854775808}', "does not fit into 64 bits"),
        ("metadata_extra", '{"a": ' + "9" * 5000 + "}", "does not fit into 64 bits"),
        ("metadata_extra", '{"a": ' + "[" * 40 + "]" * 40 + "}", "nested deeper than 32"),
        ("metadata_extra", '{"a": ' + "[" * 100_000, "nested deeper than 32"),
        ("metadata_extra", '{"a": 1, "a": 2}', "has a key twice"),
        ("tags", "x" * 101, "100 characters"),
        ("tags", "a\0b", "must not contain the character U+0000"),
    ):
        reply = send(**{field: value})
        assert reply.status_code == 200
        assert message in str(reply.context["adminform"].form.errors[field])
        assert not Content.objects.filter(title="New").exists()
    foreign = factories.policy(other_account)
    reply = send(policy=foreign.pk)
    assert "There is no policy" in str(reply.context["adminform"].form.errors["policy"])


def test_a_change_holds_in_the_next_check_touches_nothing_else_and_clears_emptied_fields(admin, account, api):
    policy = factories.policy(account, factories.ALLOW_ALL)
    item = factories.content(
        account,
        title="Old",
        policy_id=policy.pk,
        tags=["kept"],
        metadata={"author": "Ann", "edition": 2, "tags": ["also"]},
    )
    check = {"contentId": item.pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check).body["allowed"] is True
    assert submit(admin, change_url(item), title="New", status="archived").status_code == 302
    assert api.post("/v1/access/check", check).body["reason"] == "content_archived"
    shown = api.get(f"/v1/content/{item.pk}").body
    assert (shown["title"], shown["tags"]) == ("New", ["kept"])
    assert shown["metadata"] == {"author": "Ann", "edition": 2, "tags": ["also"]}
    entry = AuditEntry.objects.latest("pk")
    assert set(entry.changes) == {"title", "status"}
    assert entry.actor_type == "operator"

    item = factories.content(account, external_id="e", tags=["a"], metadata={"author": "Ann", "edition": 2})
    emptied = {"external_id": "", "tags": "", "author": "", "metadata_extra": "{}"}
    assert submit(admin, change_url(item), **emptied).status_code == 302
    shown = api.get(f"/v1/content/{item.pk}").body
    assert (shown["externalId"], shown["tags"], shown["metadata"]) == (None, [], {})


def test_an_items_page_has_its_decisions_and_deletes_it_after_a_confirmation(admin, account, api):
    item = factories.content(account)
    decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"}).body
    page = admin.get(change_url(item)).content.decode()
    assert "1 times: 0 allowed, 1 denied" in page
    assert f"/{decision['id']}/change/" in page
    address = reverse("admin:licensing_content_delete_item", args=[item.pk])
    assert "answered with 404" in admin.get(address).content.decode()
    assert api.get(f"/v1/content/{item.pk}").status == 200
    assert admin.post(address).status_code == 302
    assert api.get(f"/v1/content/{item.pk}").status == 404
    assert listed(admin) == []


@pytest.mark.parametrize("most", [1, 10_000])
def test_a_search_finds_by_id_and_by_words_whether_few_match_or_many(admin, account, monkeypatch, most):
    monkeypatch.setattr("operators.base.searching.MAX_ROWS", most)
    for number in range(2):
        factories.content(account, title=f"Tide table {number}")
    factories.content(account, title="Else", external_id="tide-9")
    assert listed(admin, q="tide") == ["Else", "Tide table 1", "Tide table 0"]
    factories.content(account, title="Another", external_id="tide-10")
    found = listed(admin, q="tide")
    # Titles are not searched if too many ids match to page through.
    assert found == (["Another", "Else"] if most == 1 else ["Another", "Else", "Tide table 1", "Tide table 0"])
