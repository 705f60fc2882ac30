from datetime import timedelta

from accounts.models import AuditEntry
from accounts.plans.services import update_account
from kit.values.timestamps import render_timestamp
from tests import factories
from tests.client import ApiClient

ME = "/v1/accounts/me"


def test_the_reply_has_the_account_the_plan_and_the_key(db, clock):
    account = factories.account(name="Saltmarsh", plan="professional")
    end = clock.now + timedelta(days=1)
    key, text = factories.api_key(account, name="Edge", permissions=["content:read"], expires_at=end)
    reply = ApiClient(text).get(ME)
    shown = {"id": account.pk, "object": "account", "name": "Saltmarsh", "plan": "professional"}
    assert {name: reply[name] for name in shown} == shown
    own = {"id": key.pk, "name": "Edge", "type": "secret", "permissions": ["content:read"]}
    assert (reply.status, reply["key"]) == (200, {**own, "expiresAt": render_timestamp(end)})
    for fields in [{"permissions": []}, {"type": "public"}]:
        assert ApiClient(factories.key_text(account, **fields)).get(ME)["id"] == account.pk


def test_usage_counts_all_keys_and_this_request(db, clock):
    account = factories.account(plan="starter")
    one, other = (ApiClient(factories.key_text(account)) for _ in range(2))
    for _ in range(3):
        one.get("/v1/content")
    reply, now = other.get(ME), int(clock.now.timestamp())
    assert reply["limits"] == {
        "minute": {"limit": 60, "used": 4, "remaining": 56, "reset": (now // 60 + 1) * 60},
        "day": {"limit": 10_000, "used": 4, "remaining": 9_996, "reset": (now // 86_400 + 1) * 86_400},
    }
    assert reply.headers["X-RateLimit-Remaining"] == "56"


def test_settings_of_the_account_can_be_changed(api):
    before = {
        "timeZone": "UTC", "currency": "USD", "visitorAddresses": "truncated", "unknownHost": "allow",
        "unlistedSigners": "deny",
    }  # fmt: skip
    after = {
        "timeZone": "Europe/Berlin", "currency": "EUR", "visitorAddresses": "full", "unknownHost": "deny",
        "unlistedSigners": "pay",
    }  # fmt: skip
    assert {name: api.get(ME)[name] for name in before} == before
    changed = api.patch(ME, after)
    assert {name: changed[name] for name in after} == {name: api.get(ME)[name] for name in after} == after
    [entry] = AuditEntry.objects.filter(action="account.updated")
    assert set(entry.changes) == set(after)
    assert api.patch(ME, {"timeZone": "Berlin"}).error["message"].endswith("Did you mean Europe/Berlin?")
    assert api.patch(ME, {"unknownHost": "allow"})["unknownHost"] == api.get(ME)["unknownHost"] == "allow"


def test_a_changed_plan_is_shown_and_invalid_changes_are_refused(api, account):
    update_account(account, {"plan": "starter", "requests_per_minute": None, "requests_per_day": None})
    assert (api.get(ME)["plan"], api.get(ME)["limits"]["day"]["limit"]) == ("starter", 10_000)
    for body in [
        {"unknownHost": "enforce"}, {"unlistedSigners": "allow"}, {"unlistedSigners": None},
        {"visitorAddresses": "none"}, {"currency": "EURO"}, {"timeZone": "+02:00"}, {"plan": 1, "unknown": "deny"},
    ]:  # fmt: skip
        assert api.patch(ME, body).status == 422
