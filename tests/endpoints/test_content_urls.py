from importlib import import_module
from random import Random
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import hypothesis
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from kit.values.same_page_setting import SamePage
from licensing.access.lookup.items import find_items
from licensing.content.models import Content
from licensing.content.rekeying import has_stale_keys
from licensing.content.url_key import page_keys
from tests import factories

PAGE = "https://pub.example/news/c"
EQUIVALENT = [
    # the case of scheme and host, a default port, a fragment, a login
    "HTTPS://pub.example/news/c",
    "https://PUB.Example/news/c",
    "https://pub.example:443/news/c",
    "https://pub.example:/news/c",
    "https://pub.example:0443/news/c",
    "https://reader@pub.example/news/c",
    "https://pub.example/news/c#part",
    "https://pub.example/news/c?",
    "https://pub.example./news/c",
    # escapes of unreserved characters
    "https://pub.example/news/%63",
    "https://pub.example/%6e%65%77%73/c",
    "https://p%75b.example/news/c",
    "https://pub%2Eexample/news/c",
    # dot segments, spelled out and escaped
    "https://pub.example/news/./c",
    "https://pub.example/./news/c",
    "https://pub.example/../news/c",
    "https://pub.example/old/../news/c",
    "https://pub.example/old/%2e%2E/news/%2e/c",
    "https://pub.example/news/c/../c",
    "https://pub.example//../news/c",
]
OTHER = [
    "http://pub.example/news/c", "https://pub.example:8443/news/c", "https://www.pub.example/news/c",
    "https://pub.example/news/C", "https://pub.example/news/c/", "https://pub.example/news//c",
    "https://pub.example/news/c/.", "https://pub.example/news%2Fc", "https://pub.example/news/%2563",
    "https://pub.example/news/c?x=1",
]  # fmt: skip
PAIRS = [
    ("http://example.com", "http://example.com:80/"),
    ("https://example.com/a?x=1", "https://example.com/a?x=%31"),
    ("https://example.com/a%2fb", "https://example.com/a%2Fb"),
    ("https://example.com/.well-known/x", "https://example.com/%2ewell-known/x"),
    ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    ("https://BÜCHER.example/", "https://XN--BCHER-KVA.example"),
    ("https://bücher.example/", "https://b%C3%BCcher.example/"),
    ("https://bücher。example/", "https://xn--bcher-kva.example/"),
    ("https://☃.example/", "https://xn--n3h.example/"),
    ("https://example.com/é?ü", "https://example.com/%c3%a9?%C3%BC"),
    ("https://example.com/100%", "https://example.com/100%25"),
    ("https://example.com/[x]", "https://example.com/%5Bx%5D"),
    ("http://[2001:DB8:0::1]:80/", "http://[2001:db8::1]/"),
    ("https://" + "中" * 100 + ".example/", "https://" + quote("中" * 100) + ".example/"),
]


@pytest.fixture
def item(account) -> Content:
    policy = factories.policy(account, rules=[], default_action="deny")
    return factories.content(account, source=PAGE, policy_id=policy.pk)


@pytest.fixture
def found(api):
    def send(url: str) -> Any:
        """Return the id of the item at the URL; None if there is none."""
        reply = api.post("/v1/access/check", {"source": url, "requester": "org"})
        return reply["contentId"] if reply.status == 200 else None

    return send


def test_an_item_is_found_by_equivalent_urls_only(found, item, api):
    for url in EQUIVALENT:
        assert found(url) == item.pk
    for url in OTHER:
        assert found(url) is None
    api.patch(f"/v1/content/{item.pk}", {"source": "https://pub.example/news/%64"})
    assert (found("https://pub.example/news/d"), found(PAGE)) == (item.pk, None)


def test_an_item_is_found_by_another_spelling_of_its_url(found, account):
    for kept, sent in [*PAIRS, *((sent, kept) for kept, sent in PAIRS)]:
        item = factories.content(account, source=kept)
        assert found(sent) == item.pk


SEGMENTS = ["news", "a-b_c.d~e", "2026", "caf%C3%A9", "x:@!$&'()*+,;=y", "..."]
UNRESERVED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
DENIED = f"https://pub.example/{'/'.join(SEGMENTS)}?q=a&r=%26"


def respelled(chance: Random, text: str) -> str:
    """Percent-encode some unreserved characters, and vary the case of escapes."""
    made, rest = "", text
    while rest:
        if rest[0] == "%":
            escape, rest = rest[:3], rest[3:]
            made += chance.choice([escape, escape.lower()])
        else:
            escapes = [f"%{ord(rest[0]):02x}", f"%{ord(rest[0]):02X}"] if rest[0] in UNRESERVED else []
            made += chance.choice(escapes) if escapes and chance.randrange(4) == 0 else rest[0]
            rest = rest[1:]
    return made


def spelling(chance: Random) -> str:
    scheme = "".join(chance.choice([letter, letter.upper()]) for letter in "https")
    letters = respelled(chance, "pub.example")
    host = chance.choice([letters, letters.upper()])
    port = chance.choice(["", ":", ":443", ":0443"])
    dot, dots = respelled(chance, "."), respelled(chance, "..")
    path = chance.choice(["", f"/{dots}"])
    for segment in SEGMENTS:
        path += chance.choice(["", "", f"/{dot}", f"/gone/{dots}", f"/a/b/{dots}/{dot}/{dots}"])
        path += f"/{respelled(chance, segment)}"
    return f"{scheme}://{host}{port}{path}?{respelled(chance, 'q=a&r=%26')}{chance.choice(['', '#part'])}"


SPELLINGS = st.integers(0, 2**32).map(lambda seed: spelling(Random(seed)))


@pytest.fixture
def denied(account):
    policy = factories.policy(account, rules=[], default_action="deny")
    return factories.content(account, source=DENIED, policy_id=policy.pk)


@pytest.mark.slow
@hypothesis.settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(urls=st.lists(SPELLINGS, min_size=100, max_size=100))
def test_a_denied_item_is_denied_under_every_spelling_of_its_url(api, denied, urls):
    """Over 2,000 spellings, in batches."""
    body = {"requester": "org", "dryRun": True, "checks": [{"source": url} for url in urls]}
    decisions = api.post("/v1/access/check/batch", body)["data"]
    assert [url for url, one in zip(urls, decisions, strict=True) if one["reason"] != "policy_denied"] == []


def test_a_list_includes_or_excludes_any_spelling(api, account, item):
    other = factories.content(account, source="https://pub.example/news/d")
    spelled = quote("https://PUB.example/news/%63", safe="")
    for query, found in {"source": item, "source[eq]": item, "source[in]": item, "source[ne]": other}.items():
        assert [one["id"] for one in api.get(f"/v1/content?{query}={spelled}")["data"]] == [found.pk], query
    for text in ["news", "http://[", ""]:
        assert api.get("/v1/content", source=text)["data"] == []
    written = "HTTPS://Pub.Example:443/news/%63#part"
    item = api.post("/v1/content", {"title": "A", "source": written})
    assert item["source"] == written
    assert api.get(f"/v1/content/{item['id']}")["source"] == written


ONE_PAGE = [
    (["trailing-slash"], [], "https://pub.example/news/c/", "https://pub.example/news/%63"),
    (["trailing-slash"], [], "https://pub.example/", "https://pub.example"),
    (["index.html"], [], "https://pub.example/news/", "https://pub.example/news/index.html"),
    (["index.html"], [], "https://pub.example", "https://pub.example/index.html?"),
    (["trailing-slash", "index.html"], [], "https://pub.example/news", "https://pub.example/news/index.html"),
    (["query"], [], PAGE, f"{PAGE}?utm_source=mail&id=1"),
    (["query"], ["id", "page"], f"{PAGE}?id=1&page=2", f"{PAGE}?page=2&utm_source=mail&%69d=1#part"),
]
TWO_PAGES = [
    (["trailing-slash"], [], PAGE, f"{PAGE}//"),
    (["index.html"], [], "https://pub.example/news", "https://pub.example/news/index.html"),
    (["index.html"], [], PAGE, f"{PAGE}index.html"),
    (["query"], ["id"], f"{PAGE}?id=1", f"{PAGE}?id=2"),
    (["query"], ["id"], f"{PAGE}?id=1", PAGE),
]


@pytest.mark.parametrize(
    ("words", "parameters", "kept", "sent"), [*ONE_PAGE, *((*one[:2], one[3], one[2]) for one in ONE_PAGE)]
)
def test_a_setting_names_the_parts_of_a_url_that_are_ignored(found, account, settings, words, parameters, kept, sent):
    settings.SAME_PAGE = SamePage.from_words(words, parameters)
    assert found(sent) is None
    item = factories.content(account, source=kept)
    assert found(sent) == item.pk


@pytest.mark.parametrize(("words", "parameters", "kept", "sent"), TWO_PAGES)
def test_the_setting_ignores_only_the_named_parts(found, account, settings, words, parameters, kept, sent):
    settings.SAME_PAGE = SamePage.from_words(words, parameters)
    factories.content(account, source=kept)
    assert found(sent) is None


def test_items_of_before_a_changed_setting_are_found_once_they_have_new_keys(found, account, item, settings):
    settings.SAME_PAGE = SamePage.from_words(["trailing-slash"], [])
    slashed = factories.content(account, source="https://pub.example/news/d/")
    assert (found(f"{PAGE}/"), has_stale_keys()) == (item.pk, False)  # its own key had no slash

    settings.SAME_PAGE = None
    assert (found("https://pub.example/news/d/"), has_stale_keys()) == (None, True)
    call_command("migrate_data", verbosity=0)
    assert (found("https://pub.example/news/d/"), has_stale_keys()) == (slashed.pk, False)
    assert found("https://pub.example/news/d") is None


@pytest.mark.django_db(transaction=True)
def test_a_service_whose_items_are_not_found_by_their_urls_does_not_start(account, settings):
    factories.content(account, source=f"{PAGE}/")
    settings.SAME_PAGE = SamePage.from_words(["trailing-slash"], [])
    with pytest.raises(CommandError, match="migrate_data"):
        call_command("serve")


def test_a_setting_that_says_nothing_is_refused():
    for words, parameters in [(["slash"], []), (["trailing-slash"], ["id"]), ([], ["id"])]:
        with pytest.raises(ValueError, match=r"takes|needs"):
            SamePage.from_words(words, parameters)


def test_items_of_before_are_found_by_url_and_by_page_after_the_migrations(account, other_account, found):
    """Run what the migrations do with rows; tests/commands migrates whole databases."""
    older, newer, without = (
        factories.content(account, source=source) for source in ("https://pub.example/news/%63", PAGE, None)
    )
    Content.objects.filter(pk=older.pk).update(source_key=b"a former key")
    paths = [":8443/a", "/b?view=x&id=1", "/b?view=x&id=2"]
    pages = [factories.content(other_account, source=f"https://pub.example{path}") for path in paths]
    pages.append(factories.content(other_account, source=None))

    Content.objects.update(page_key=None)
    for name in ("0009_equivalent_urls", "0022_keys_of_pages"):
        migration = import_module(f"licensing.migrations.{name}")
        migration.give_keys(apps, SimpleNamespace(connection=connection))

    assert found("https://pub.example/news/./c") == newer.pk
    keys = dict(Content.objects.values_list("pk", "source_key"))
    assert bytes(keys[older.pk]) == bytes(keys[newer.pk])
    assert keys[without.pk] is None
    assert found("https://pub.example/news/%63") == newer.pk
    Content.objects.filter(pk=newer.pk).update(status="archived")
    assert found("https://pub.example/news/%63") == older.pk

    keys = dict(Content.objects.values_list("pk", "page_key"))
    assert all((keys[one.pk] and bytes(keys[one.pk])) in page_keys(one.source) for one in pages)
    assert bytes(keys[pages[1].pk]) != bytes(keys[pages[2].pk])
    asked = ["https://pub.example/a", "https://pub.example:81/b?id=2&view=x"]
    items = find_items(other_account.pk, [("page", url) for url in asked])
    assert [items["page", url].id for url in asked] == [pages[0].pk, pages[2].pk]
