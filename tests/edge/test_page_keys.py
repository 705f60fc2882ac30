import json
from io import StringIO

import pytest
from django.core.management import call_command

from kit.values.same_page_setting import SamePage
from licensing.access.lookup.items import find_items
from licensing.content.models import Content
from licensing.content.rekeying import has_stale_keys
from licensing.content.services import delete_content, update_content
from tests import factories
from tests.edge.asking import READERS


@pytest.fixture
def shut(account):
    return factories.policy(account, factories.DENY_ALL)


@pytest.fixture
def site(account):
    return factories.site(account, {"/*": factories.policy(account, READERS)}, host="pub.example")


# Some applications see `id=5` here, others no such parameter.
DOUBTFUL = [
    "id[]=5", "id[0]=5", "id%5B%5D=5", "x=1;id=5", "x=1&amp;id=5", "x=1%23&id=5", "x=1#&id=5", "id=5%23",
    "id=5;x=1",
    "+id=5", "%20id=5", "id+=5", "id%00=5", "id%09=5", "%2569d=5", "id=5&id=6", "id=6&id[]=5",
]  # fmt: skip


@pytest.mark.parametrize("query", DOUBTFUL)
def test_a_parameter_that_only_some_applications_see_opens_no_paid_page_and_closes_no_less(ask, account, query):
    shut, free = (factories.policy(account, rule) for rule in (factories.DENY_ALL, READERS))
    factories.site(account, {"/shut/*": shut, "/free/*": free}, host="pub.example")
    factories.content(account, source="https://pub.example/shut/a?id=5", policy_id=free.pk)
    factories.content(account, source="https://pub.example/free/a?id=5", policy_id=shut.pk)
    assert [ask(f"/{folder}/a?{query}").status for folder in ("shut", "free")] == [403, 403]
    assert [ask(f"/{folder}/a?x=a%20b&id=5&y=caf%C3%A9").status for folder in ("shut", "free")] == [200, 403]


def test_names_in_which_php_reads_an_underscore_are_read_so_too(ask, account, shut):
    factories.site(account, {"/*": factories.policy(account, READERS)}, host="pub.example")
    factories.content(account, source="https://pub.example/a?my_id=5", policy_id=shut.pk)
    for query in ["my.id=5", "my%20id=5", "my+id=5", "my[id=5"]:
        assert ask(f"/a?{query}").status == 403, query


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("uri", ["/a", "/a?utm=1", "/a;x", "//a"])
def test_every_change_of_an_item_holds_for_the_next_request(ask, account, shut, uri):
    assert ask(uri).status == 200
    item = factories.content(account, source="https://pub.example:8443/a", policy_id=shut.pk)
    assert ask(uri).status == 403
    update_content(item, {"source": "https://pub.example/b?id=1"})
    assert (ask(uri).status, ask("/b?x=1&id=1").status) == (200, 403)
    update_content(item, {"source": "https://pub.example/%61"})
    assert (ask(uri).status, ask("/b?x=1&id=1").status) == (403, 200)
    delete_content(item)
    assert ask(uri).status == 200


def test_a_bulk_request_writes_the_keys_too(api, ask, shut):
    items = [{"title": "A", "externalId": str(n), "source": f"https://pub.example/?view=a&id={n}", "policyId": shut.pk}
             for n in range(50)]  # fmt: skip
    api.post("/v1/content/bulk", {"items": items})
    assert [ask(f"/?id={n}&x=1&view=a").status for n in (0, 49, 50)] == [403, 403, 200]
    api.post("/v1/content/bulk", {"items": [{**items[0], "source": "https://pub.example/?view=a&id=50"}]})
    assert [ask(f"/?id={n}&x=1&view=a").status for n in (0, 49, 50)] == [200, 403, 403]


def test_items_of_one_page_are_found_by_their_parameter(account, api):
    sources = [f"https://pub.example/?option=content&view=article&id={n}" for n in range(300)]
    for source in sources[:3]:
        factories.content(account, source=source)
    api.post("/v1/content/bulk", {"items": [{"title": "A", "source": source} for source in sources[3:]]})
    keys = [bytes(key) for key in Content.objects.filter(source__in=sources).values_list("page_key", flat=True)]
    assert len(set(keys)) >= 298  # the first of all may have any


def test_the_newest_active_item_of_a_page_decides(ask, account, shut):
    open_ = factories.policy(account, READERS)
    newer = [factories.content(account, source=f"{start}/a", policy_id=policy.pk)
             for start, policy in (("https://pub.example", open_), ("http://pub.example:81", shut))][1]  # fmt: skip
    assert ask("/a").status == 403
    update_content(newer, {"status": "archived"})
    assert ask("/a").status == 200


def test_migrate_data_lists_pages_whose_items_have_different_policies(account, shut):
    open_ = factories.policy(account, READERS)
    older = factories.content(account, source="https://pub.example/a?x=1&y=2", policy_id=open_.pk)
    newer = factories.content(account, source="http://PUB.example:81/a?y=2&x=1", policy_id=shut.pk)
    for path in ("/a?x=1", "/b", "/b"):
        factories.content(account, source=f"https://pub.example{path}", policy_id=shut.pk)
    archived = factories.content(account, source="https://pub.example/b", policy_id=open_.pk)
    update_content(archived, {"status": "archived"})
    output = StringIO()
    call_command("migrate_data", stdout=output)
    assert output.getvalue().splitlines() == [
        "Keys of items by their URLs: changed 0.",
        "Counts of visits in former tables: changed 0.",
        "Pages with items of different policies, where the newest active item decides: 1",
        f"  {newer.source}: {newer.pk} decides, not {older.pk} ({older.source})",
    ]
    call_command("migrate_data", json=True, stdout=output)
    assert json.loads(output.getvalue().splitlines()[-1])["contestedPages"] == [[newer.pk, older.pk]]


def test_same_page_holds_at_the_edge_too(ask, account, shut, site, settings):
    settings.SAME_PAGE = SamePage.from_words(["trailing-slash", "index.html", "query"], ["id"])
    for uri in ("/a", "/b/index.html", "/c?id=1&utm=mail"):
        factories.content(account, source=f"https://pub.example{uri}", policy_id=shut.pk)
    for uri in ("/a/", "/a/index.html", "/a;x/", "/b", "/b/", "/c/?id=1", "/c?utm=x&id=1"):
        assert (uri, ask(uri).status) == (uri, 403)
    assert ask("/c?utm=mail").status == 200


def test_same_page_settings_do_not_change_patterns(ask, account, shut, settings):
    factories.site(account, {"/premium/*": shut, "/about$": shut}, host="pub.example")
    settings.SAME_PAGE = SamePage.from_words(["trailing-slash", "index.html"], [])
    for uri in ["/premium/", "/premium/index.html", "/premium/a/", "/about", "/about/", "/about/index.html"]:
        assert ask(uri).status == 403, uri


def test_the_longest_pattern_decides_about_a_page_with_several_spellings(ask, account, shut, settings):
    open_ = factories.policy(account, READERS)
    factories.site(account, {"/a/$": shut, "/a": open_, "/b/": open_, "/b/index.html": shut}, host="pub.example")
    settings.SAME_PAGE = SamePage.from_words(["trailing-slash", "index.html"], [])
    answers = {uri: ask(uri).status for uri in ("/a/", "/a/index.html", "/a/b", "/b/", "/b/index.html")}
    assert answers == {"/a/": 403, "/a/index.html": 403, "/a/b": 200, "/b/": 200, "/b/index.html": 403}


def test_an_item_without_keys_is_stale_until_it_is_given_new_ones(ask, account, shut, site):
    item = factories.content(account, source="https://pub.example/a?x=1&y=2", policy_id=shut.pk)
    Content.objects.filter(pk=item.pk).update(page_key=None)
    assert (has_stale_keys(), ask("/a?y=2&x=1").status) == (True, 200)
    call_command("migrate_data", verbosity=0)
    assert (has_stale_keys(), ask("/a?y=2&x=1").status) == (False, 403)


def test_a_lookup_takes_as_many_queries_for_ambiguous_urls(account, site, django_assert_max_num_queries):
    urls = [f"https://pub.example/{number};x/%252e%252e/a?a={number};b" for number in range(20)]
    with django_assert_max_num_queries(7):
        assert len(find_items(account.pk, [("page", url) for url in urls])) == 20
