from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from accounts.models import Account
from analytics.models import Statement
from licensing.models import PortalSession
from tests import auditlog, factories
from tests.client import ApiClient
from tests.clock import clock  # noqa: F401 - a fixture

SESSIONS = "/v1/requesters/org_acme/portal-sessions"
RETURN = "https://publisher.example/account"


@pytest.fixture
def acme(account):
    """A customer with a licence, a fee, a quota and a payment; and another one with a licence."""
    terms = {"price_amount": Decimal(100), "price_currency": "EUR", "per_access": "0.05"}
    held = factories.license(
        account, "org_acme", fee_amount=Decimal(9), fee_currency="EUR", fee_every="month", **terms
    )
    factories.wallet(account, requester_id="org_acme", unit="access", amount=28)
    factories.payment(account, 30, requester_id="org_acme", currency="EUR")
    factories.license(account, "org_other", price_amount=Decimal(7777), price_currency="EUR")
    return held.requester


def path_of(session):
    return "/portal/" + session["url"].rpartition("/")[2]


def opened(api, **fields):
    """Return a browser in which a new link was redeemed."""
    browser = Client()
    reply = browser.post(path_of(api.post(SESSIONS, fields)))
    assert reply.status_code == 302, reply.content
    return browser


def text_of(reply):
    assert reply.status_code == 200, reply.content
    return " ".join(unescape(strip_tags(reply.content.decode())).split())


def test_a_link_shows_a_customer_its_licences_credit_and_statements(api, acme):
    reply = api.post(SESSIONS, {"returnUrl": RETURN})
    assert reply["scopes"] == ["licenses", "wallets", "statements"]
    assert (reply["requesterId"], reply["returnUrl"]) == ("org_acme", RETURN)
    browser = Client()
    asked = browser.get(path_of(reply))
    assert "Continue" in text_of(asked)
    assert asked["Referrer-Policy"] == "no-referrer"
    begun = browser.post(path_of(reply))
    assert begun["Location"] == "/portal/"
    cookie = begun.cookies["portal_session"]
    protected = {"httponly": True, "samesite": "Lax", "path": "/portal/", "max-age": 86400}
    assert {name: cookie[name] for name in protected} == protected
    shown = browser.get("/portal/")
    terms = "100.00 EUR, 9.00 EUR every month, 0.05 USD for each access"
    for said in ("commercial", terms, "28 accesses", "79.00 EUR"):
        assert said in text_of(shown)
    assert "7,777" not in text_of(shown)
    assert (shown["Cache-Control"], "frame-ancestors 'none'" in shown["Content-Security-Policy"]) == ("no-store", True)
    statement = Statement.objects.get(requester=acme, currency="EUR")
    printed = browser.get(f"/portal/statements/{statement.pk}")
    assert "Closing balance79.00 EUR" in text_of(printed)
    assert "/admin/" not in printed.content.decode()
    others = Statement.objects.exclude(requester=acme).get()
    assert browser.get(f"/portal/statements/{others.pk}").status_code == 404
    assert RETURN in browser.post("/portal/end").content.decode()
    assert browser.get("/portal/").status_code == 403
    assert not PortalSession.objects.exists()


def test_a_link_works_once_and_a_get_does_not_use_it_up(api, acme):
    path = path_of(api.post(SESSIONS, {}))
    for _ in range(2):
        assert Client().get(path).status_code == 200
    assert Client().post(path).status_code == 302
    assert [Client().post(path).status_code, Client().get(path).status_code] == [403, 403]
    assert Client().get("/portal/unknown").status_code == 403
    assert Client().get("/portal/").status_code == 403


def test_a_link_ends_after_15_minutes_and_a_session_after_24_hours(api, acme, clock):  # noqa: F811
    reply = api.post(SESSIONS, {})
    clock.advance(seconds=899)
    browser = Client()
    assert browser.post(path_of(reply)).status_code == 302
    late = path_of(api.post(SESSIONS, {}))
    clock.advance(seconds=900)
    assert Client().post(late).status_code == 403
    clock.advance(seconds=24 * 3600 - 901)
    assert browser.get("/portal/").status_code == 200
    clock.advance(seconds=1)
    assert browser.get("/portal/").status_code == 403
    api.post(SESSIONS, {})
    assert PortalSession.objects.count() == 1  # those that have ended are gone


def test_scopes_limit_what_the_pages_show_and_what_the_key_needs(api, account, acme):
    browser = opened(api, scopes=["licenses"])
    shown = text_of(browser.get("/portal/"))
    assert "Licences" in shown
    assert "Credit" not in shown
    assert "Statements" not in shown
    statement = Statement.objects.get(requester=acme, currency="EUR")
    assert browser.get(f"/portal/statements/{statement.pk}").status_code == 404
    weaker = ApiClient(factories.key_text(account, permissions=["licenses:write"]))
    assert weaker.post(SESSIONS, {"scopes": ["licenses", "wallets"]}).status == 200
    for fields in ({}, {"scopes": ["statements"]}):
        refused = weaker.post(SESSIONS, fields)
        assert refused.status == 403
        assert "revenue:read" in refused.error["message"]
    for fields in ({"scopes": []}, {"scopes": ["everything"]}, {"returnUrl": "javascript:alert(1)"}):
        assert api.post(SESSIONS, fields).status == 422


def test_sessions_end_with_a_merge_an_erasure_or_a_suspension(api, account, acme):
    browser = opened(api)
    Account.objects.filter(pk=account.pk).update(suspended_at=timezone.now())
    assert browser.get("/portal/").status_code == 403
    Account.objects.filter(pk=account.pk).update(suspended_at=None)
    assert browser.get("/portal/").status_code == 200
    api.post("/v1/requesters/org_acme/merge", {"into": "org_other"})
    assert browser.get("/portal/").status_code == 403
    assert api.post(SESSIONS, {}).status == 409
    api.post("/v1/requesters/org_other/portal-sessions", {})
    assert api.delete("/v1/requesters/org_other").status == 200
    assert not PortalSession.objects.exists()


def test_a_created_session_is_audited_without_its_link(api, acme):
    reply = api.post(SESSIONS, {}, headers={"Idempotency-Key": "once"})
    assert api.post(SESSIONS, {}, headers={"Idempotency-Key": "once"})["url"] == reply["url"]
    [entry] = auditlog.entries(action="portal_session.created")
    assert entry.changes["requesterId"] == [None, "org_acme"]
    assert path_of(reply).removeprefix("/portal/") not in str(entry.changes)
    assert PortalSession.objects.get().expires_at - timezone.now() <= timedelta(minutes=15)


def test_a_requester_whose_own_id_ends_like_the_path_is_read(api, account):
    factories.requester(account, requester_id="org_x/portal-sessions")
    assert api.get("/v1/requesters/org_x/portal-sessions")["id"] == "org_x/portal-sessions"
