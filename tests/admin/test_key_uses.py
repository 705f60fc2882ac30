import pytest

from accounts.models import ApiKey, AuditEntry
from operators.access import key_pages
from operators.base.links import change_url
from tests import factories
from tests.client import ApiClient


@pytest.fixture
def used(account):
    """A key that created an item."""
    key, text = factories.api_key(account, name="Importer")
    assert ApiClient(text).post("/v1/content", {"title": "Tides of May"}).status == 201
    return key


def page_of(client, key):
    return client.get(change_url(key)).content.decode()


def test_the_latest_changes_of_a_key_are_shown_with_their_address(admin, used, account, staff, sign_in, api):
    html = page_of(admin, used)
    assert change_url(AuditEntry.objects.get(actor_id=used.pk)) in html
    assert "content.created Tides of May (from 127.0.0.1)" in html

    other, _ = factories.api_key(account)
    html = page_of(admin, other)
    assert "Tides of May" not in html
    assert "none among the account’s latest 5,000 changes" in html

    def reader(*permissions):
        return sign_in(staff("accounts.view_apikey", *permissions, accounts=[account]))

    assert "Tides of May" not in page_of(reader(), used)
    assert "Tides of May" in page_of(reader("accounts.view_auditentry"), used)
    api.delete(f"/v1/api-keys/{used.pk}")
    assert ApiKey.objects.get(pk=used.pk).revoked_at is not None
    assert "Tides of May" in page_of(admin, used)


def test_only_the_newest_changes_of_the_account_are_searched(admin, used, api, monkeypatch):
    monkeypatch.setattr(key_pages, "SEARCHED", 1)
    api.post("/v1/content", {"title": "Newer"})
    assert "Tides of May" not in page_of(admin, used)


def test_the_latest_decisions_are_shown_to_those_who_may_see_them(admin, account, staff, sign_in):
    key, text = factories.api_key(account, name="Gateway")
    other, _ = factories.api_key(account)
    item = factories.content(account)
    decision = ApiClient(text).post("/v1/access/check", {"contentId": item.pk, "requester": "org_seen"})
    html = page_of(admin, key)
    assert decision["id"] in html
    assert "org_seen" in html
    assert "org_seen" not in page_of(admin, other)

    key, text = factories.api_key(account)
    ApiClient(text).post("/v1/access/check", {"contentId": factories.content(account).pk, "requester": "org_seen"})
    reader = sign_in(staff("accounts.view_apikey", accounts=[account]))
    assert "org_seen" not in page_of(reader, key)
