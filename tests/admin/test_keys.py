import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from accounts.keys import keytext
from accounts.models import ApiKey, AuditEntry
from operators.access import api_keys, key_pages
from operators.base import tickets
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import form_values, open_form, submit
from tests.client import ApiClient

ADD, KEYS = reverse("admin:accounts_apikey_add"), reverse("admin:accounts_apikey_changelist")


def shown_key(reply):
    """Return the key that the page shows."""
    assert reply.status_code == 200
    [text] = re.findall(r"svc_[sp]k_[0-9A-Za-z]{34}", reply.content.decode())
    return text


def act(client, key, action, **fields):
    return submit(client, reverse(f"admin:accounts_apikey_{action}", args=[key.pk]), **fields)


def make(client, account, **fields):
    return submit(client, ADD, account=account.pk, **{"name": "Web", "permissions": ["content:read"], **fields})


def test_a_new_key_has_the_values_of_the_form_and_works(admin, account):
    make(admin, account, allowed_ips="203.0.113.0/24\r\n198.51.100.7", expires_at_0="2099-01-02", expires_at_1="03:04")
    key = ApiKey.objects.get()
    assert (key.account, key.name, key.type, key.permissions) == (account, "Web", "secret", ["content:read"])
    assert key.allowed_ips == ["203.0.113.0/24", "198.51.100.7"]
    assert key.expires_at.isoformat() == "2099-01-02T03:04:00+00:00"
    text = shown_key(make(admin, account))
    assert ApiClient(text).get("/v1/content").status == 200
    assert ApiClient(text).get("/v1/policies").status == 403
    reply = make(admin, account)
    assert "no-store" in reply.headers["Cache-Control"]
    assert reply.headers["Referrer-Policy"] == "no-referrer"


def test_a_key_gets_a_rate_limit_which_can_be_changed_and_removed(admin, account):
    make(admin, account, rate_limit="20/minute")
    key = ApiKey.objects.get()
    page = reverse("admin:accounts_apikey_change", args=[key.pk])
    assert key.rate_limit == {"requests": 20, "period": "minute"}
    assert form_values(admin.get(page).content.decode())["rate_limit"] == ["20 a minute"]
    submit(admin, page)
    assert ApiKey.objects.get().rate_limit == key.rate_limit
    submit(admin, page, rate_limit="500 an hour")
    assert ApiKey.objects.get().rate_limit == {"requests": 500, "period": "hour"}
    assert "Must be a number and a period" in submit(admin, page, rate_limit="often").content.decode()
    too_many = submit(admin, page, rate_limit="1000000/minute").content.decode()
    assert "Must be below the plan&#x27;s limit of 100000 a minute." in too_many
    submit(admin, page, rate_limit="")
    assert ApiKey.objects.get().rate_limit is None


def test_the_same_form_makes_one_key_only_and_shows_it_until_it_was_seen(admin, account):
    fields = {**form_values(admin.get(ADD).content.decode()), "account": account.pk, "name": "Web", "permissions": "*"}
    first, again = admin.post(ADD, fields), admin.post(ADD, fields)
    assert shown_key(again) == shown_key(first)  # interrupted by a second click
    assert "sent twice" in again.content.decode()
    assert ApiClient(shown_key(again)).get("/v1/content").status == 200
    assert ApiKey.objects.count() == 1
    see(admin, ApiKey.objects.get())
    again = admin.post(ADD, fields)
    assert again.headers["Location"] == change_url(ApiKey.objects.get())  # where the key's text is not
    assert "svc_sk_" not in again.content.decode()


def see(client, key):
    """Send the request by which a new key's page reports that it was shown."""
    assert client.post(reverse("admin:accounts_apikey_seen", args=[key.pk])).status_code == 204


def test_a_key_is_not_shown_again_later_or_to_other_sessions(admin, account, staff, sign_in):
    fields = {**form_values(admin.get(ADD).content.decode()), "account": account.pk, "name": "Web", "permissions": "*"}
    admin.post(ADD, fields)
    assert sign_in(staff(is_superuser=True)).post(ADD, fields).headers["Location"] == change_url(ApiKey.objects.get())

    admin.post(ADD, fields)
    ApiKey.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    assert admin.post(ADD, fields).headers["Location"] == change_url(ApiKey.objects.get())


def test_the_same_rotation_makes_one_key_only(admin, account):
    key, _ = factories.api_key(account)
    address = reverse("admin:accounts_apikey_rotate", args=[key.pk])
    fields = form_values(admin.get(address).content.decode())
    first, again = admin.post(address, fields), admin.post(address, fields)
    assert shown_key(again) == shown_key(first)
    assert ApiKey.objects.count() == 2
    see(admin, ApiKey.objects.order_by("-pk")[0])
    assert "already created a key" in admin.post(address, fields).content.decode()


@pytest.mark.parametrize("overlap", ["0", "3600"])
def test_the_same_rotation_sent_twice_at_the_same_moment_shows_the_key(admin, account, overlap, monkeypatch):
    """Both requests check for an existing rotation before either has made one."""
    key, _ = factories.api_key(account)
    address = reverse("admin:accounts_apikey_rotate", args=[key.pk])
    fields = {**form_values(admin.get(address).content.decode()), "overlap_seconds": overlap}
    first = admin.post(address, fields)
    looks = iter([lambda *about: None])
    monkeypatch.setattr(tickets, "is_used", lambda *about: False)

    def look(*about):
        return next(looks, key_pages.key_shown_again)(*about)

    monkeypatch.setattr(api_keys, "key_shown_again", look)
    assert shown_key(admin.post(address, fields)) == shown_key(first)
    assert ApiKey.objects.count() == 2


def test_invalid_values_are_reported_at_their_fields(admin, account):
    send = open_form(admin, ADD)
    given = {"account": account.pk, "name": "Web", "permissions": ["content:read"]}
    for fields, message in (
        ({"type": "public", "permissions": ["content:write"]}, "A public key can only read"),
        ({"allowed_ips": "10.0.0.1/8"}, "Did you mean 10.0.0.0/8?"),
        ({"allowed_ips": "here"}, "Must be an IP address"),
        ({"name": " "}, "This field is required"),
        ({"permissions": []}, "This field is required"),
        ({"expires_at_0": "2001-01-01", "expires_at_1": "00:00"}, "Must be in the future"),
    ):
        reply = send(**{**given, **fields})
        html = reply.content.decode()
        assert reply.status_code == 200, message
        assert message in html.replace("&#x27;", "'"), message
        assert ApiKey.objects.count() == 0, message
        assert account.pk in html  # the entered values are kept


def test_a_key_is_revoked_after_a_page_that_names_it_its_use_and_what_stops(admin, account):
    used = timezone.now() - timedelta(days=3)
    key, text = factories.api_key(account, name="Old server", permissions=["access:check"])
    ApiKey.objects.update(last_used_at=used)
    html = admin.get(reverse("admin:accounts_apikey_revoke", args=[key.pk])).content.decode()
    for said in ("Old server", key.prefix, f"{used:%Y-%m-%d %H:%M}", "check access"):
        assert said in html
    assert ApiClient(text).get("/v1/access/decisions").status == 403  # it still works
    assert act(admin, key, "revoke").status_code == 302
    assert ApiClient(text).get("/v1/content").status == 401


def test_a_rotated_key_works_until_its_overlap_ends_and_the_proxys_file_is_named(admin, account):
    key, text = factories.api_key(account)
    new = shown_key(act(admin, key, "rotate", overlap_seconds="3600"))
    assert ApiClient(new).get("/v1/content").status == 200
    assert ApiClient(text).get("/v1/content").status == 200
    key.refresh_from_db()
    assert timedelta(minutes=59) < key.expires_at - timezone.now() <= timedelta(hours=1)

    for permission, is_reminded in (("access:check", True), ("content:read", False)):
        key, _ = factories.api_key(account, permissions=[permission])
        page = act(admin, key, "rotate", overlap_seconds="3600").content.decode()
        assert ("enter the new one in the proxy’s file" in page) is is_reminded


@pytest.mark.parametrize(("term", "days"), [("fresh", 90), ("same", 1), ("never", None)])
def test_a_key_that_ends_tomorrow_is_followed_by_one_that_lasts_as_chosen(admin, account, term, days):
    key, _ = factories.api_key(account)
    now = timezone.now()
    made, ends = now - timedelta(days=89), now + timedelta(days=1)
    ApiKey.objects.update(created_at=made, expires_at=ends)
    address = reverse("admin:accounts_apikey_rotate", args=[key.pk])
    assert form_values(admin.get(address).content.decode())["term"] == ["fresh"]
    shown_key(submit(admin, address, term=term))
    new = ApiKey.objects.order_by("-pk")[0]
    if days is None:
        assert new.expires_at is None
    else:
        assert abs(new.expires_at - (now + timedelta(days=days))) < timedelta(minutes=1)


def test_a_key_that_expires_in_the_year_9999_can_be_rotated(admin, account):
    key, _ = factories.api_key(account)
    ApiKey.objects.update(
        created_at=timezone.now() - timedelta(days=90), expires_at=datetime(9999, 12, 31, tzinfo=UTC)
    )
    new = shown_key(act(admin, key, "rotate", term="fresh"))
    assert ApiClient(new).get("/v1/content").status == 200


def test_a_key_that_has_ended_offers_nothing_to_press_and_its_history_has_each_step(admin, account):
    key, _ = factories.api_key(account)
    html = admin.get(change_url(key)).content.decode()
    assert ("/rotate" in html, "/revoke" in html) == (True, True)
    act(admin, key, "revoke")
    html = admin.get(change_url(key)).content.decode()
    assert ("/rotate" in html, "/revoke" in html) == (False, False)
    assert "nothing to rotate" in act(admin, key, "rotate").content.decode()
    assert ApiKey.objects.count() == 1
    assert admin.post(change_url(key), {"name": "Other"}).status_code == 403
    assert admin.get(reverse("admin:accounts_apikey_delete", args=[key.pk])).status_code == 403

    # The history shows the key's audit log entries.
    key, _ = factories.api_key(account)
    act(admin, key, "rotate", overlap_seconds="3600")
    act(admin, key, "revoke")
    html = admin.get(reverse("admin:accounts_apikey_history", args=[key.pk]), follow=True).content.decode()
    assert "api_key.rotated" in html
    assert "api_key.revoked" in html
    assert key.pk in html
    assert not LogEntry.objects.exists()  # Django's own log


def test_name_addresses_and_expiry_are_changed_and_hold_for_the_next_request(admin, account):
    key, text = factories.api_key(account, allowed_ips=["127.0.0.0/8"])
    fields = {"name": "Edge", "allowed_ips": "198.51.100.7\n203.0.113.0/24", "expires_at_0": "2099-01-02"}
    assert submit(admin, change_url(key), **fields, expires_at_1="03:04").status_code == 302
    now = ApiKey.objects.get(pk=key.pk)
    assert (now.name, now.allowed_ips) == ("Edge", ["198.51.100.7", "203.0.113.0/24"])
    assert f"{now.expires_at:%Y-%m-%d %H:%M}" == "2099-01-02 03:04"
    assert ApiClient(text).get("/v1/content").error["code"] == "ip_not_allowed"


def test_invalid_changes_are_reported_at_their_fields(admin, account):
    key, _ = factories.api_key(account)
    for fields, message in (
        ({"allowed_ips": "10.0.0.1/8"}, "Did you mean 10.0.0.0/8?"),
        ({"expires_at_0": "2001-01-01", "expires_at_1": "00:00"}, "Must be in the future"),
    ):
        reply = submit(admin, change_url(key), **fields)
        assert (reply.status_code, message in reply.content.decode()) == (200, True), message
        assert ApiKey.objects.get().audited() == key.audited(), message


def test_an_expired_key_is_renamed_and_permissions_are_described(admin, account):
    key, _ = factories.api_key(account)
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert submit(admin, change_url(key), name="Old").status_code == 302
    assert ApiKey.objects.get().name == "Old"

    key, _ = factories.api_key(account, permissions=["content:read", "access:check"])
    html = admin.get(change_url(key)).content.decode()
    assert "Read content" in html
    assert "Check access" in html


def test_a_keys_text_is_on_its_page_and_nowhere_else(admin, account, caplog):
    """Not in the database, its history, sessions, messages, the log or any later page."""
    from tests.stored import everything_stored

    caplog.set_level("DEBUG")
    made = shown_key(make(admin, account))
    rotated = shown_key(act(admin, ApiKey.objects.get(), "rotate"))
    pages = [admin.get(KEYS), admin.get(reverse("admin:index"))]
    pages += [admin.get(address) for key in ApiKey.objects.all() for address in (change_url(key),)]
    pages += [admin.get(reverse("admin:accounts_apikey_history", args=[key.pk])) for key in ApiKey.objects.all()]
    cookies = " ".join(morsel.value for morsel in admin.cookies.values())
    for text in (made, rotated):
        secret = text[keytext.PREFIX_CHARACTERS :].encode()
        assert secret not in everything_stored()
        assert secret.decode() not in caplog.text + cookies + repr(dict(admin.session))
        assert not any(secret in page.content for page in pages)


@pytest.fixture
def keys_of_all_kinds(account):
    now = timezone.now()
    ages = {
        "fresh": {},
        "idle": {"last_used_at": now - timedelta(days=91)},
        "never used": {"created_at": now - timedelta(days=91)},
        "ending": {"expires_at": now + timedelta(days=3, hours=1)},
        "ended": {"expires_at": now - timedelta(days=1)},
        "revoked": {"revoked_at": now, "last_used_at": now - timedelta(days=200)},
    }
    for name, fields in ages.items():
        key, _ = factories.api_key(account, name=name)
        ApiKey.objects.filter(pk=key.pk).update(**fields)


def test_keys_are_filtered_by_their_state_and_the_list_warns(admin, keys_of_all_kinds):
    for query, names in (
        ("attention=unused", {"idle", "never used"}),
        ("attention=expiring", {"ending"}),
        ("state=active", {"fresh", "idle", "never used", "ending"}),
        ("state=expired", {"ended"}),
        ("state=revoked", {"revoked"}),
        ("q=idle", {"idle"}),
    ):
        assert {key.name for key in admin.get(f"{KEYS}?{query}").context["cl"].result_list} == names
    html = admin.get(KEYS).content.decode()
    assert html.count("not used for 90 days") == 3  # two keys, and the filter
    assert "expires in 3 days" in html


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
    monkeypatch.setattr(key_pages, "MAX_SEARCHED", 1)
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
