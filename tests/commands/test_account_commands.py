from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.utils import timezone

from accounts.models import Account, ApiKey, AuditEntry, IdempotencyRecord
from tests import factories
from tests.client import ApiClient
from tests.commands.calling import printed, printed_json
from tests.endpoints.key_fields import FIELDS

NO_ACCOUNT = "acc_" + "0" * 26


@pytest.mark.parametrize(("plan", "minute", "day"), [("starter", 60, 10_000), ("professional", 300, 100_000)])
def test_an_account_is_created_with_its_plan(db, plan, minute, day):
    made = printed_json("create_account", "Publisher", "--plan", plan)
    created = made.pop("created")
    account = Account.objects.get()
    assert made == {
        "id": account.pk,
        "object": "account",
        "name": "Publisher",
        "plan": plan,
        "requestsPerMinute": minute,
        "requestsPerDay": day,
        "edgeRequestsPerMinute": minute * 10,
        "edgeRequestsPerDay": day * 10,
        "unlistedSigners": "deny",
        "unknownHost": "allow",
        "visitorAddresses": "truncated",
        "timeZone": "UTC",
        "currency": "USD",
    }
    assert created.endswith("Z")


def test_an_enterprise_account_has_its_own_limits_and_may_have_some_at_the_edge(db):
    plan = ("create_account", "Big", "--plan=enterprise", "--requests-per-minute=7", "--requests-per-day=8")
    made = printed_json(*plan, "--edge-requests-per-minute=1000", "--edge-requests-per-day=2000")
    assert (made["requestsPerMinute"], made["requestsPerDay"]) == (7, 8)
    assert (made["edgeRequestsPerMinute"], made["edgeRequestsPerDay"]) == (1_000, 2_000)
    assert ApiClient(factories.key_text(Account.objects.get())).get("/v1/content").headers["X-RateLimit-Limit"] == "7"


def test_whether_unlisted_signers_can_pay_is_set_when_an_account_is_created_and_later(db):
    made = printed_json("create_account", "Publisher", "--unlisted-signers=pay")
    assert made["unlistedSigners"] == "pay"
    assert printed("change_account", made["id"], "--unlisted-signers=deny") == f"Changed the account {made['id']}.\n"
    assert printed_json("change_account", made["id"], "--unlisted-signers=deny")["unlistedSigners"] == "deny"
    [entry] = AuditEntry.objects.filter(action="account.updated")
    assert entry.changes == {"unlistedSigners": ["pay", "deny"]}


SETTINGS = {"timeZone": "Europe/Berlin", "currency": "EUR", "unknownHost": "deny", "visitorAddresses": "full"}
AS_OPTIONS = ("--time-zone=Europe/Berlin", "--currency=EUR", "--unknown-host=deny", "--visitor-addresses=full")


def test_the_settings_of_an_account_are_set_when_it_is_created_and_later(db):
    made = printed_json("create_account", "Publisher", *AS_OPTIONS)
    assert {name: made[name] for name in SETTINGS} == SETTINGS
    other = printed_json("create_account", "Other")
    changed = printed_json("change_account", other["id"], "--name=Another", *AS_OPTIONS)
    assert {name: changed[name] for name in SETTINGS} == SETTINGS
    [entry] = AuditEntry.objects.filter(action="account.updated")
    assert entry.changes == {
        "name": ["Other", "Another"],
        "timeZone": ["UTC", "Europe/Berlin"],
        "currency": ["USD", "EUR"],
        "unknownHost": ["allow", "deny"],
        "visitorAddresses": ["truncated", "full"],
    }


def test_plan_and_limits_of_an_account_are_changed(db):
    made = printed_json("create_account", "Publisher")
    limits = ("--requests-per-minute=7", "--requests-per-day=8")
    changed = printed_json("change_account", made["id"], "--plan=enterprise", *limits)
    assert (changed["plan"], changed["requestsPerMinute"], changed["requestsPerDay"]) == ("enterprise", 7, 8)
    changed = printed_json("change_account", made["id"], "--requests-per-day=9", "--edge-requests-per-day=1000")
    assert (changed["requestsPerMinute"], changed["requestsPerDay"], changed["edgeRequestsPerDay"]) == (7, 9, 1_000)
    changed = printed_json("change_account", made["id"], "--plan=starter")
    assert (changed["plan"], changed["requestsPerDay"]) == ("starter", 10_000)
    with pytest.raises(CommandError, match="--requests-per-day: only --plan enterprise has limits of its own"):
        printed("change_account", made["id"], "--requests-per-day=9")
    with pytest.raises(CommandError, match="needs limits of its own: add --requests-per-minute and"):
        printed("change_account", made["id"], "--plan=enterprise")


def test_accounts_are_changed_with_valid_options_only(account):
    for arguments, message in (
        ([], "Nothing to change. Add an option"),
        (["--unlisted-signers=maybe"], "invalid choice: 'maybe'"),
        (["--time-zone=Berlin"], "time_zone: Must be the name of a time zone .* Did you mean Europe/Berlin?"),
        (["--currency=EURO"], "currency: "),
        (["--visitor-addresses=none"], "invalid choice: 'none'"),
    ):
        with pytest.raises(CommandError, match=message):
            printed("change_account", account.pk, *arguments)
    with pytest.raises(CommandError, match="There is no"):
        printed("change_account", NO_ACCOUNT, "--unlisted-signers=pay")


def test_invalid_plans_and_names_are_refused_by_the_option(db):
    enterprise = ["Big", "--plan=enterprise"]
    for arguments, message in (
        (enterprise, "needs limits of its own: add --requests-per-minute and --requests-per-day."),
        ([*enterprise, "--requests-per-day=8"], "needs limits of its own: add --requests-per-minute."),
        ([*enterprise, "--requests-per-minute=7"], "needs limits of its own: add --requests-per-day."),
        ([*enterprise, "--requests-per-minute=0", "--requests-per-day=8"], ""),
        ([*enterprise, "--requests-per-minute=-1", "--requests-per-day=8"], ""),
        (["Small", "--requests-per-day=8"], "--requests-per-day: only --plan enterprise has limits of its own."),
        (["Small", "--plan=starter", "--requests-per-minute=7"], "--requests-per-minute: only --plan enterprise"),
        (["Small", "--edge-requests-per-day=8"], "--edge-requests-per-day: only --plan enterprise has limits"),
        (["Small", "--plan=starter", "--edge-requests-per-minute=7"], "only --plan enterprise has limits of its own."),
        (["Odd", "--plan=gold"], "'starter', 'professional', 'enterprise'"),
        (["", "--plan=starter"], ""),
        (["x" * 256, "--plan=starter"], ""),
    ):
        with pytest.raises(CommandError) as error:
            printed("create_account", *arguments)
        assert message in str(error.value)
        assert not Account.objects.exists()
    with pytest.raises(CommandError, match=r"^name: This field cannot be blank\.$"):
        printed("create_account", "")
    assert printed("create_account", "Publisher") == f"Created the account {Account.objects.get().pk} (starter).\n"


def test_a_created_key_works_and_is_stored_and_printed_once(account):
    made = printed_json("create_api_key", "--account", account.pk, "--name", "Backend", "--type", "secret")
    assert set(made) == FIELDS | {"key"}
    assert (made["name"], made["type"], made["permissions"]) == ("Backend", "secret", ["*"])
    assert ApiClient(made["key"]).get("/v1/content").status == 200
    text = printed("create_api_key", "--account", account.pk, "--name", "x", "--type", "public")
    assert ApiClient(text.strip().splitlines()[-1]).get("/v1/content").status == 200
    made = printed_json("create_api_key", "--account", account.pk, "--name", "x", "--type", "secret")
    key = ApiKey.objects.get(pk=made["id"])
    assert made["key"][13:] not in str(key.__dict__)


def test_a_key_that_cannot_be_is_refused_and_says_why(account):
    for changes, named in (
        (["--account", NO_ACCOUNT], NO_ACCOUNT),
        (["--account", "x"], "x"),
        (["--name", ""], "name"),
        (["--type", "private"], "type"),
        (["--permission", "content:delete"], "--permission (permissions[0]): "),
        (["--type", "public", "--permission", "content:write"], "--permission (permissions[0]): "),
        (["--allowed-ip", "10.0.0.1/8"], "--allowed-ip (allowedIps[0]): "),
        (["--allowed-host", "pub.example/a"], "--allowed-host (allowedHosts[0]): "),
        (["--rate-limit", "20"], "--rate-limit (rateLimit): Must be a number and a period: 20/minute"),
        (["--rate-limit", "100000/minute"], "--rate-limit (rateLimit.requests): Must be below the plan's limit"),
        (["--expires-at", "tomorrow"], "--expires-at (expiresAt): "),
        (["--expires-at", "2099-01-31T12:00:00"], "--expires-at (expiresAt): "),
    ):
        with pytest.raises(CommandError) as refused:
            printed("create_api_key", "--account", account.pk, "--name", "x", "--type", "secret", *changes)
        assert named in str(refused.value), changes
        assert not ApiKey.objects.exists(), changes


def test_a_key_is_created_with_all_its_grants_and_limit(account):
    printed("create_api_key", "--account", account.pk, "--name", "x", "--type", "public", "--rate-limit", "500/hour")
    assert ApiKey.objects.get().rate_limit == {"requests": 500, "period": "hour"}
    made = printed_json(
        "create_api_key", "--account", account.pk, "--name", "x", "--type", "secret", "--permission", "content:read",
        "--permission", "access:check", "--allowed-ip", "10.0.0.0/8", "--allowed-ip", "::1",
        "--expires-at", "2099-01-31",
    )  # fmt: skip
    assert made["permissions"] == ["content:read", "access:check"]
    assert made["allowedIps"] == ["10.0.0.0/8", "::1"]
    assert made["expiresAt"] == "2099-01-31T00:00:00.000000Z"


def test_a_revoked_key_is_refused_at_once_and_named(account):
    key, text = factories.api_key(account)
    assert ApiClient(text).get("/v1/content").status == 200
    made = printed_json("revoke_api_key", key.pk)
    assert (made["id"], set(made)) == (key.pk, FIELDS)
    assert made["revokedAt"] is not None
    assert ApiClient(text).get("/v1/content").status == 401
    key, _ = factories.api_key(account)
    assert printed("revoke_api_key", key.pk).strip() == f"Revoked {key.pk} ({key.prefix}…)."


def test_a_rotated_key_may_overlap_within_bounds(account):
    for seconds in (-1, 604_801):
        key, text = factories.api_key(account)
        with pytest.raises(CommandError, match=r"^--overlap-seconds \(overlapSeconds\)"):
            printed("rotate_api_key", key.pk, f"--overlap-seconds={seconds}")
        assert ApiClient(text).get("/v1/content").status == 200
    key, text = factories.api_key(account)
    printed("rotate_api_key", key.pk, "--overlap-seconds", 60)
    assert ApiClient(text).get("/v1/content").status == 200
    key, text = factories.api_key(account, permissions=["content:read"])
    made = printed_json("rotate_api_key", key.pk)
    assert set(made) == FIELDS | {"key"}
    assert (made["name"], made["permissions"]) == (key.name, ["content:read"])
    assert [ApiClient(one).get("/v1/content").status for one in (text, made["key"])] == [401, 200]


def test_an_unknown_key_is_named(db):
    for id_ in ("x", "key_" + "0" * 26, NO_ACCOUNT):
        for command in ("revoke_api_key", "rotate_api_key"):
            with pytest.raises(CommandError, match=id_):
                printed(command, id_)


def test_purging_deletes_only_records_older_than_24_hours(api):
    for key in ("old", "new"):
        api.post("/v1/content", {"title": key}, headers={"Idempotency-Key": key})
    past = timezone.now() - timedelta(hours=24)
    IdempotencyRecord.objects.filter(key="old").update(created=past)
    IdempotencyRecord.objects.filter(key="new").update(created=past + timedelta(minutes=1))
    assert printed_json("purge_idempotency_keys") == {"deleted": 1}
    assert [record.key for record in IdempotencyRecord.objects.all()] == ["new"]
    assert printed("purge_idempotency_keys").strip() == "Deleted 0 idempotency records."
