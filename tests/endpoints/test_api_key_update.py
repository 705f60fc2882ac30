import json
from datetime import timedelta

import pytest

from accounts.events.models import Event
from accounts.keys import services
from accounts.keys.authentication import find_grant
from accounts.models import ApiKey
from kit.http.errors import InvalidApiKey
from kit.values.timestamps import render_timestamp
from tests import auditlog, factories
from tests.client import ApiClient
from tests.endpoints.key_fields import assert_beyond_key

HERE = "127.0.0.0/8"


@pytest.fixture
def key(account):
    return factories.api_key(account, name="Servers")[0]


@pytest.fixture
def at(clock):
    """Return the time this many seconds from now, in the API's format."""
    return lambda seconds: render_timestamp(clock.now + timedelta(seconds=seconds))


def path_of(key):
    return f"/v1/api-keys/{key.pk}"


def test_bounds_can_be_removed_and_an_expired_key_renamed(api, account, clock):
    key, _ = factories.api_key(account, expires_at=clock.now + timedelta(days=1), allowed_ips=[HERE])
    reply = api.patch(path_of(key), {"expiresAt": None, "allowedIps": []})
    assert (reply["expiresAt"], reply["allowedIps"]) == (None, [])
    key, _ = factories.api_key(account, expires_at=clock.now + timedelta(seconds=1))
    clock.advance(seconds=2)
    shown = api.get(path_of(key)).body
    assert api.patch(path_of(key), {**shown, "name": "Old"}).body == {**shown, "name": "Old"}


def test_the_next_request_is_held_to_the_new_addresses(api, account, connect):
    item = factories.content(account)
    key, text = factories.api_key(account)
    caller, check = connect(text), {"contentId": item.pk, "requester": "org"}
    assert caller.post("/v1/access/check", check).status == 200
    api.patch(path_of(key), {"allowedIps": ["198.51.100.7"]})
    assert caller.post("/v1/access/check", check).error["code"] == "ip_not_allowed"
    api.patch(path_of(key), {"allowedIps": []})
    assert caller.post("/v1/access/check", check).status == 200


def test_an_expiry_in_the_future_revives_a_key(api, key, at, account, clock):
    for seconds in [0, -60]:
        assert api.patch(path_of(key), {"expiresAt": at(seconds)}).status_and_param == (422, "expiresAt")
    key, text = factories.api_key(account, expires_at=clock.now + timedelta(seconds=10))
    clock.advance(seconds=10)
    assert ApiClient(text).get("/v1/content").status == 401
    assert api.patch(path_of(key), {"expiresAt": at(60)}).status == 200
    assert ApiClient(text).get("/v1/content").status == 200


def test_a_changed_key_is_shown_by_the_next_read(api, key, at):
    for field, value in [("type", "public"), ("permissions", ["content:read"])]:
        reply = api.patch(path_of(key), {"name": "Other", field: value})
        assert reply.status_and_param == (422, field)
        assert ApiKey.objects.get(pk=key.pk).name == "Servers"
    fields = {"name": "Edge", "allowedIps": ["203.0.113.0/24"], "expiresAt": at(60)}
    reply = api.patch(path_of(key), fields)
    assert reply.status == 200
    assert {name: reply[name] for name in fields} == fields
    assert api.get(path_of(key)).body == reply.body
    assert "key" not in reply.body
    for body in [{"name": "Other"}, {}, {"expiresAt": None}]:
        api.delete(path_of(key))
        assert api.patch(path_of(key), body).status_and_code == (409, "resource_revoked")


def test_a_change_is_recorded_in_the_audit_log_and_as_an_event(api, key, account):
    api.patch(path_of(key), {"name": "Edge"})
    [entry] = auditlog.entries(action="api_key.updated")
    assert (entry.resource_id, entry.changes) == (key.pk, {"name": ["Servers", "Edge"]})
    event = Event.objects.get(type="api_key.updated")
    assert (event.object_id, json.loads(event.data)["name"]) == (key.pk, "Edge")
    assert json.loads(event.previous) == {"name": "Servers"}
    manager = ApiClient(factories.key_text(account, permissions=["api_keys:manage"], allowed_ips=[HERE]))
    assert manager.patch(path_of(key), {"name": "Other"})["name"] == "Other"


def test_a_key_ends_another_no_later_than_itself(account, key, at, clock):
    for seconds in [301, None]:
        short, text = factories.api_key(account, expires_at=clock.now + timedelta(seconds=300))
        ending, _ = factories.api_key(account, expires_at=clock.now + timedelta(seconds=200))
        wanted = None if seconds is None else at(seconds)
        for one in (short, ending):
            assert_beyond_key(ApiClient(text).patch(path_of(one), {"expiresAt": wanted}), "expiresAt")
        assert_beyond_key(ApiClient(text).patch(path_of(key), {"expiresAt": at(301)}), "expiresAt")
    _, text = factories.api_key(account, expires_at=clock.now + timedelta(seconds=300))
    assert ApiClient(text).patch(path_of(key), {"expiresAt": at(300)})["expiresAt"] == at(300)


def test_a_key_opens_only_its_own_addresses(account):
    for addresses in [[], ["198.51.100.7"], ["0.0.0.0/0"], ["127.0.0.1", "::1"]]:
        narrow, text = factories.api_key(account, allowed_ips=[HERE])
        other, _ = factories.api_key(account, allowed_ips=["127.0.0.1"])
        for one in (narrow, other):
            assert_beyond_key(ApiClient(text).patch(path_of(one), {"allowedIps": addresses}), "allowedIps")
    narrow, text = factories.api_key(account, allowed_ips=[HERE])
    assert ApiClient(text).patch(path_of(narrow), {"allowedIps": ["127.0.0.1"]})["allowedIps"] == ["127.0.0.1"]


@pytest.mark.parametrize("field", ["expiresAt", "allowedIps"])
def test_a_key_cannot_widen_a_key_with_more_permissions(account, clock, at, field):
    powerful, _ = factories.api_key(account, expires_at=clock.now + timedelta(seconds=60), allowed_ips=["10.0.0.1"])
    manager = ApiClient(factories.key_text(account, permissions=["api_keys:manage"]))
    wider = {"expiresAt": at(61), "allowedIps": ["10.0.0.0/8"]}
    narrower = {"expiresAt": at(59), "allowedIps": ["10.0.0.1"]}
    assert_beyond_key(manager.patch(path_of(powerful), {field: wider[field]}))
    assert manager.patch(path_of(powerful), {field: narrower[field]}).status == 200


def test_a_key_that_ended_while_its_request_was_under_way_changes_nothing(account, key):
    changer, text = factories.api_key(account)
    grant = find_grant(text)
    services.revoke_api_key(changer)
    with pytest.raises(InvalidApiKey):
        services.update_api_key(key, {"name": "Other"}, changed_by=grant)
