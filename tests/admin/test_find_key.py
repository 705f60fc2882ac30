import logging

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.keys import keytext, services
from accounts.models import ApiKey, AuditEntry, SavedFilter
from operators.base.links import change_url
from tests import factories
from tests.stored import everything_stored

KEYS, FIND = reverse("admin:accounts_apikey_changelist"), reverse("admin:accounts_apikey_find")
ITEMS, SEARCH = reverse("admin:licensing_content_changelist"), reverse("admin:search")
UNKNOWN = "svc_sk_" + "1" * 28
UNKNOWN += keytext.checksum(UNKNOWN)


def secret_part(text):
    return text[keytext.PREFIX_CHARACTERS :]


def messages_of(reply):
    return [str(message) for message in reply.context["messages"]]


def find(client, text):
    """Submit the form and return the page it leads to."""
    return client.post(FIND, {"key": text}, follow=True)


def test_a_leaked_key_leads_to_its_page_however_it_was_pasted(admin, account):
    html = admin.get(KEYS).content.decode()
    assert f'action="{FIND}"' in html
    assert "Find a leaked key" in html
    key, text = factories.api_key(account, name="Backend")
    reply = find(admin, text)
    assert reply.redirect_chain == [(change_url(key), 302)]
    [message] = messages_of(reply)
    assert "Backend" in message
    assert "still works" in message
    for pasted in (" {}\r\n", "Authorization: Bearer {}", '"key": "{}",', "https://x.example/?k={}&b=1"):
        key, text = factories.api_key(account)
        assert find(admin, pasted.format(text)).redirect_chain == [(change_url(key), 302)]


def revoke(key):
    services.revoke_api_key(key)


def expire(key):
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now())


def rotate(key):
    services.rotate_api_key(key)


@pytest.mark.parametrize(("end", "state"), [(revoke, "revoked"), (expire, "expired"), (rotate, "revoked")])
def test_a_key_that_has_ended_is_found_with_its_state(admin, account, end, state):
    key, text = factories.api_key(account)
    end(key)
    reply = find(admin, text)
    assert reply.redirect_chain == [(change_url(key), 302)]
    assert state in messages_of(reply)[0].lower()


def test_unknown_texts_are_reported_and_half_a_key_is_taken_out(admin, account):
    for text in ("", "svc_sk_", "a word", "svc_sk_" + "0" * 34, UNKNOWN):
        factories.api_key(account)
        reply = find(admin, text)
        assert reply.redirect_chain == [(KEYS, 302)]
        assert "No API key of this installation" in messages_of(reply)[0]
    assert admin.get(KEYS, {"q": factories.key_text(account)[:25]}).headers["Location"] == KEYS
    key, _ = factories.api_key(account)
    assert list(admin.get(KEYS, {"q": key.prefix}).context["cl"].result_list) == [key]


def test_the_text_is_kept_nowhere(admin, account, caplog):
    caplog.set_level(logging.DEBUG)
    text = factories.key_text(account)
    audited = AuditEntry.objects.count()
    for one in (text, UNKNOWN):
        reply = find(admin, one)
        shown = [reply.content.decode(), str(reply.headers), *(address for address, _ in reply.redirect_chain)]
        assert not [page for page in shown if secret_part(one) in page]
        assert secret_part(one).encode() not in everything_stored()
        assert secret_part(one) not in caplog.text
    assert keytext.digest(UNKNOWN) not in everything_stored()
    assert AuditEntry.objects.count() == audited
    assert not LogEntry.objects.exists()


def test_the_form_needs_a_token_and_a_post(account, staff):
    client = Client(enforce_csrf_checks=True)
    client.force_login(staff(is_superuser=True))
    assert client.post(FIND, {"key": factories.key_text(account)}).status_code == 403
    assert client.get(FIND).status_code == 405


def test_operators_find_keys_of_their_accounts_if_they_may_see_keys(staff, sign_in, account):
    text = factories.key_text(account)
    assert sign_in(staff("accounts.view_account", accounts=[account])).post(FIND, {"key": text}).status_code == 403
    assert find(sign_in(staff("accounts.view_apikey", accounts=[account])), text).status_code == 200
    text = factories.key_text(factories.account())
    reply = find(sign_in(staff("accounts.view_apikey", accounts=[account])), text)
    assert reply.redirect_chain == [(KEYS, 302)]
    assert "No API key of your accounts" in messages_of(reply)[0]

    reader = sign_in(staff("licensing.view_content", accounts=[account]))
    reply = reader.get(ITEMS, {"q": factories.key_text(account)}, follow=True)
    [message] = messages_of(reply)
    assert "rotate" in message.lower()
    assert "Find a leaked key" not in message


def test_a_key_in_the_address_of_a_list_is_taken_out_of_it_with_a_hint(admin, account):
    text = factories.key_text(account)
    for name in ("q", "account__exact", "_changelist_filters"):
        for address in (KEYS, ITEMS, reverse("admin:accounts_auditentry_changelist")):
            reply = admin.get(address, {name: f" {text} "}, follow=True)
            assert reply.redirect_chain == [(address, 302)], (address, name)
            assert secret_part(text) not in reply.content.decode(), (address, name)
            [message] = messages_of(reply)
            assert "rotate" in message.lower(), (address, name)
            assert "Find a leaked key" in message, (address, name)


def test_a_key_in_an_address_is_not_sent_on_cached_or_saved(admin, account):
    reply = admin.get(KEYS, {"q": factories.key_text(account)})
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert "no-store" in reply.headers["Cache-Control"]
    text = factories.key_text(account)
    assert admin.post(f"{KEYS}?q={text}", {"_save_filters": "1", "name": "Mine"}).headers["Location"] == KEYS
    assert not SavedFilter.objects.exists()

    text = factories.key_text(account)
    html = admin.get(SEARCH, {"s": text}).content.decode()
    assert f'href="{KEYS}"' in html
    assert "Find a leaked key" in html
    assert secret_part(text) not in html
