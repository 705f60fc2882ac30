from importlib import import_module

import pytest
from django.apps import apps

from accounts.models import Account
from accounts.plans.services import update_account
from licensing.content.models import Content
from licensing.sites.models import OtherHosts
from licensing.sites.other_hosts import keep_pages
from licensing.sites.services import delete_site
from tests import factories
from tests.edge.asking import READERS, event, told


@pytest.fixture
def bound_key(account):
    """A key restricted to pub.example."""
    return factories.key_text(account, permissions=["access:check"], allowed_hosts=["pub.example"])


def test_a_key_for_a_host_is_refused_elsewhere(ask, site, bound_key, raw, account):
    for host in ["pub.example", "PUB.example", "pub.example:8443", "pub.example.", "pub.example.:80"]:
        site(READERS)
        assert ask("/premium/a", x_licensing_key=bound_key, x_forwarded_host=host).status == 200
    for page in ["/premium/a", "/robots.txt"]:
        site(READERS)
        reply = ask(page, x_licensing_key=bound_key, x_forwarded_host="other.example", user_agent="GPTBot/1.0")
        assert told(reply) == (403, "deny", "host_not_allowed")
        message = "Access to this is denied."
        assert reply.error == {"code": "host_not_allowed", "message": message, "type": "access_denied"}
        recorded = event(reply)
        assert (recorded.allowed, recorded.reason) == (False, "host_not_allowed")
        assert (recorded.facts["url"], recorded.facts["ip"]) == (f"https://other.example{page}", "203.0.113.9")
    site(READERS)
    assert raw("/v1/access/envoy/premium/a", host="pub.example", x_licensing_key=bound_key).status == 200
    assert raw("/v1/access/envoy/premium/a", host="other.example", x_licensing_key=bound_key).status == 403
    sent = {"x_licensing_key": bound_key, "x_forwarded_host": "other.example"}
    reply = ask("/a", path="/v1/access/forward?deny=403", **sent)
    assert (reply.status, reply.headers["X-Access-Status"]) == (403, "403")
    site(READERS, mode="observe")
    factories.site(account, {"/": factories.policy(account, READERS)}, host="second.example", mode="observe")
    assert ask("/a", x_forwarded_host="second.example").status == 200
    assert ask("/a", x_licensing_key=bound_key, x_forwarded_host="second.example").status == 403


def elsewhere(ask, page="/about", **headers):
    return ask(page, x_forwarded_host="other.example", **headers)


def test_hosts_without_a_site_are_observed(ask, account, site, api_of):
    site(READERS)
    elsewhere(ask)
    [listed] = api_of(account).get("/v1/access/decisions?url[prefix]=https://other.example/")["data"]
    assert listed["observed"] == {"allowed": False, "reason": "no_policy"}
    for uri in ["/a;x", "/x/..;/a", "/a?" + "x&" * 1_000]:
        site(READERS)
        factories.content(
            account, source="https://other.example/a", policy_id=factories.policy(account, factories.DENY_ALL).pk
        )
        assert elsewhere(ask, "/a").status == 403
        assert elsewhere(ask, uri).status == 403
    for mode in ["observe", "disabled", "enforce"]:
        site(READERS, mode=mode)
        for _ in range(2):
            reply = elsewhere(ask)
            assert told(reply) == (200, "allow", None)
            recorded = event(reply)
            assert (recorded.allowed, recorded.observed) == (True, "no_policy")
            assert (recorded.facts["url"], recorded.facts["mode"]) == ("https://other.example/about", "observe")
            assert "siteId" not in recorded.facts
        assert OtherHosts.objects.count() == 1


def test_the_choice_of_the_account_holds_for_the_next_request(ask, account, api_of, site):
    site(READERS)
    assert elsewhere(ask).status == 200
    changed = api_of(account).patch("/v1/accounts/me", {"unknownHost": "deny"})
    assert (changed.status, changed["unknownHost"]) == (200, "deny")
    assert told(elsewhere(ask)) == (403, "deny", "no_policy")
    assert api_of(account).patch("/v1/accounts/me", {"unknownHost": None})["unknownHost"] == "allow"
    assert elsewhere(ask).status == 200
    for own, status in [("allow", 200), ("deny", 403)]:
        update_account(account, {"unknown_host": own})
        assert elsewhere(ask).status == status
        made = site(READERS, mode="enforce" if own == "allow" else "observe")
        assert elsewhere(ask).status == status
        delete_site(made)
        assert elsewhere(ask).status == status


def test_an_item_at_a_host_without_a_site_is_decided_by_its_policy(ask, account, site):
    site(READERS)
    update_account(account, {"unknown_host": "deny"})
    factories.content(account, source="https://other.example/a", policy_id=factories.policy(account, READERS).pk)
    assert (elsewhere(ask, "/a").status, elsewhere(ask, "/b").status) == (200, 403)
    for uri in ["/a;x", "/x/..;/a", "/a?" + "x&" * 1_000]:
        site(READERS)
        update_account(account, {"unknown_host": "deny"})
        factories.content(account, source="https://other.example/a", policy_id=factories.policy(account, READERS).pk)
        assert elsewhere(ask, "/a").status == 200
        assert [told(elsewhere(ask, uri)) for _ in range(2)] == [(403, "deny", "no_policy")] * 2


def test_refusals_are_decisions_of_their_account(ask, account, site, api_of, other_account):
    site(READERS)
    update_account(account, {"unknown_host": "deny"})
    first, second = elsewhere(ask), elsewhere(ask, "/b")
    listed = api_of(account).get("/v1/access/decisions?reason=no_policy")["data"]
    assert [one["id"] for one in listed] == [second.headers["X-Access-Id"], first.headers["X-Access-Id"]]
    assert len({one["contentId"] for one in listed}) == 1
    assert api_of(account).get("/v1/content")["totalCount"] == 0
    assert Content.objects.get(pk=listed[0]["contentId"]).title == "Pages of other hosts"
    factories.site(other_account, {}, host="third.example")
    theirs = factories.key_text(other_account, permissions=["access:check"])
    mine, other = event(elsewhere(ask)), event(elsewhere(ask, x_licensing_key=theirs))
    assert mine.content_id != other.content_id
    assert (mine.account_id, other.account_id) == (account.pk, other_account.pk)
    for _ in range(2):
        keep_pages(account.pk)
    assert OtherHosts.objects.filter(account=account).count() == 1


def test_the_upgrade_keeps_hosts_refused_that_were_refused(account, other_account, site):
    site(READERS)
    Account.objects.update(unknown_host=None)
    migration = import_module("licensing.migrations.0035_keep_refusing_other_hosts")
    migration.keep_refusing(apps, None)
    kept = dict(Account.objects.values_list("pk", "unknown_host"))
    assert (kept[account.pk], kept[other_account.pk]) == ("deny", None)
