import csv
import html
from io import StringIO

import pytest
from django.urls import reverse

from accounts.models import Account
from analytics.models import AccessEvent
from operators.base.links import change_url, list_url
from operators.staff.services import create_operator
from tests import factories
from tests.admin.headline import card, links, listed
from tests.client import ApiClient
from tests.edge.conftest import *  # noqa: F403 - the fixtures of a proxy that asks


@pytest.fixture
def site(account):
    Account.objects.filter(pk=account.pk).update(unknown_host="deny")
    return factories.site(
        account, {"/premium/*": factories.policy(account)}, host="pub.example", mode="enforce", unknown="deny"
    )


@pytest.fixture
def decided(account, site, ask):
    """Return decisions about pages and one about an item, oldest first."""
    api = ApiClient(factories.key_text(account))
    item = factories.content(account, title="The item")
    ids = [ask(uri).headers["X-Access-Id"] for uri in ("/premium/a", "/premium/b?x=1", "/elsewhere/a")]
    ids.append(ask("/a", x_forwarded_host="other.example").headers["X-Access-Id"])
    return [*ids, api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_a"}).body["id"]]


def found(client, **query):
    return [event.pk for event in listed(client, list_url(AccessEvent, **query))]


def test_the_list_shows_the_page_of_each_decision_at_the_edge_and_its_item(admin, decided, account, site, ask):
    shown = html.unescape(admin.get(list_url(AccessEvent)).content.decode())
    for address in ("pub.example/premium/a", "pub.example/premium/b", "other.example/a", "The item"):
        assert shown.count(f">{address}<") == 1
    assert "?x=1<" not in shown

    factories.content(account, title="A <b>", source="https://pub.example/items/a<b>")
    ask("/items/a%3Cb%3E")
    assert "A &lt;b&gt; (pub.example/items/a%3Cb%3E)" in admin.get(list_url(AccessEvent)).content.decode()


def test_decisions_are_found_by_page_and_by_site(admin, decided, site, other_account):
    a, b, elsewhere, *_ = decided
    assert found(admin, page="https://pub.example/premium/a") == [a]
    assert found(admin, page="http://pub.example/premium/a") == [a]
    assert found(admin, page="http://pub.example/premium/*") == [b, a]
    assert found(admin, page=" pub.example/premium/b ") == [b]
    assert found(admin, page="pub.example/premium/*") == [b, a]
    assert found(admin, page="https://pub.example/*", outcome="no_policy") == [elsewhere]
    assert found(admin, page="pub.example/premium/") == []
    assert found(admin, page="*") == list(reversed(decided[:4]))
    assert found(admin, page="\0") == found(admin)
    assert found(admin, site=site.pk) == list(reversed(decided[:3]))
    theirs = factories.site(other_account, host="pub.example")
    assert found(admin, site=theirs.pk) == []
    assert found(admin, site="nonsense") == []
    shown = html.unescape(admin.get(list_url(AccessEvent)).content.decode())
    for one in (site, theirs):
        assert f">pub.example ({one.account.name})<" in " ".join(shown.split()).replace("> ", ">").replace(" <", "<")


def test_another_outcome_keeps_the_chosen_page_and_starts_on_the_first_page_of_the_list(admin, decided):
    shown = admin.get(list_url(AccessEvent, page="pub.example/*", p="1")).content.decode()
    assert 'href="?outcome=allowed&amp;page=pub.example%2F%2A"' in shown
    shown = admin.get(list_url(AccessEvent, page="pub.example/*", outcome="allowed")).content.decode()
    assert 'href="?page=pub.example%2F%2A" class="operators-chip">all<' in shown


def test_the_export_and_the_filters_name_own_sites(admin, decided, site, staff, sign_in, account, other_account):
    reply = admin.get(reverse("admin:analytics_accessevent_export_items"))
    rows = csv.DictReader(StringIO(b"".join(reply.streaming_content).decode("utf-8-sig")))
    assert [(row["url"], row["siteId"]) for row in rows] == [
        ("", ""),
        ("https://other.example/a", ""),
        ("https://pub.example/elsewhere/a", site.pk),
        ("https://pub.example/premium/b", site.pk),
        ("https://pub.example/premium/a", site.pk),
    ]

    theirs = factories.site(other_account, host="theirs.example")
    operator, _ = create_operator("own", role="Viewer", accounts=[account])
    shown = sign_in(operator).get(list_url(AccessEvent)).content.decode()
    assert "pub.example" in shown
    assert theirs.host not in shown


def test_the_overview_says_what_opens_unknown_pages(admin, decided, site):
    shown = links(card(admin, "hand"))
    assert shown["1 request was denied because pub.example denies unknown pages. "
                 "Change its setting, or add a pattern with a policy."] == change_url(site)  # fmt: skip
    assert "1 decision was denied because the item had no policy. Link one." in shown
    [other] = [text for text in shown if "host" in text]
    assert other.startswith("1 request was denied because its host has no site.")


def test_only_unknown_pages_leave_no_advice_to_link_a_policy(admin, site, ask):
    ask("/elsewhere/a")
    ask("/elsewhere/b")
    assert [text for text in links(card(admin, "hand")) if "denied" in text] == [
        "2 requests were denied because pub.example denies unknown pages. "
        "Change its setting, or add a pattern with a policy."
    ]
