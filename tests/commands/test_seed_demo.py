"""manage.py seed_demo: a demo account."""

import io
import json
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.models import Account, ApiKey, AuditEntry
from analytics.models import AccessEvent, LedgerEntry
from licensing.access.examples import CHECK
from licensing.account_deletion import in_order_of_deletion
from licensing.content.models import Content
from licensing.demo import account as demo_account
from licensing.policies.decision import Reason
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from operators.staff.services import create_operator
from tests import factories
from tests.client import ApiClient

pytestmark = pytest.mark.django_db

DAYS = 20  # a year takes seconds


def seed(*options: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("seed_demo", "--json", "--days", str(DAYS), *options, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def curl(line: str) -> tuple[str, dict[str, str], bytes]:
    """Parse a curl command line into URL, headers and body, as a shell does."""
    words = shlex.split(line)
    assert words[:2] == ["curl", "-s"]
    headers = dict(words[index + 1].split(": ", 1) for index, word in enumerate(words) if word == "-H")
    return words[2], headers, words[words.index("-d") + 1].encode()


def decided() -> list[tuple[Any, ...]]:
    events = AccessEvent.objects.order_by("created", "id").values_list(
        "created", "requester__requester_id", "allowed", "reason"
    )
    # Decisions of one batch have the same time, so their order is undefined.
    return sorted((created.isoformat()[11:], *map(str, rest)) for created, *rest in events)


def test_its_curl_line_is_allowed_again_and_again(settings: Any) -> None:
    settings.HOST, settings.PORT = "0.0.0.0", 8123  # noqa: S104
    url, headers, body = curl(seed()["curl"])
    assert url == "http://127.0.0.1:8123/v1/access/check"
    client = ApiClient(None, **headers)
    for _ in range(20):
        reply = client.post("/v1/access/check", body)
        assert (reply.status, reply["allowed"]) == (200, True)


def test_its_account_has_something_of_everything() -> None:
    shown = seed()
    api = ApiClient(shown["key"])
    assert (shown["object"], shown["seeded"], shown["account"]["object"]) == ("demo", True, "account")
    content = api.get("/v1/content", limit=100)["data"]
    assert len(content) == 30
    assert {item["type"] for item in content} == {"article", "report", "image", "dataset", "video"}
    assert api.get("/v1/policies")["totalCount"] == 4
    assert {key["type"] for key in api.get("/v1/api-keys")["data"]} == {"secret", "public"}
    assert ApiClient(shown["publicKey"]).get("/v1/content").status == 200


def test_the_example_of_a_check_in_the_reference_is_allowed_with_its_key() -> None:
    assert CHECK["externalId"] == demo_account.SHOWN
    reply = ApiClient(seed()["key"]).post("/v1/access/check", CHECK)
    assert (reply.status, reply["allowed"]) == (200, True)


def test_its_policies_have_examples_which_guard_them() -> None:
    api = ApiClient(seed()["key"])
    policies = api.get("/v1/policies")["data"]
    assert [len(policy["tests"]) >= 2 for policy in policies] == [True] * 4
    for policy in policies:
        reply = api.patch(f"/v1/policies/{policy['id']}", {"rules": [], "defaultAction": "deny"})
        assert (reply.status, reply.error["param"]) == (422, "tests[0]")
    call_command("test_policies", stdout=io.StringIO())


def test_its_keys_are_as_old_as_they_are_and_its_requesters_as_their_first_decision() -> None:
    begun = timezone.now()
    seed()
    assert all(key.created_at >= begun for key in ApiKey.objects.all())
    for requester in Requester.objects.all():
        first = AccessEvent.objects.filter(requester=requester).order_by("created").first()
        assert first is None or requester.created <= first.created


def test_a_second_demo_is_made_only_where_it_is_asked_for_and_has_another_name() -> None:
    seed()
    with pytest.raises(CommandError, match="add --beside"):
        seed()
    seed("--beside")
    assert len(set(Account.objects.values_list("name", flat=True))) == 2


def test_no_demo_is_made_among_real_accounts_by_a_slip() -> None:
    factories.account()
    with pytest.raises(CommandError, match="There are accounts already"):
        seed()


def remove(account_id: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("remove_demo", account_id, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_a_demo_is_removed_with_its_ledger_and_nothing_else() -> None:
    other = factories.account()
    factories.license(other, price_amount=Decimal(5), price_currency="EUR")
    made = seed("--beside")["account"]
    assert LedgerEntry.objects.filter(account=made["id"]).exists()
    assert remove(made["id"]) == {"id": made["id"], "object": "account", "deleted": True}
    for model, way in in_order_of_deletion():
        assert not model._base_manager.filter(**{way: made["id"]}).exists(), model
    assert [account.pk for account in Account.objects.all()] == [other.pk]
    assert LedgerEntry.objects.get().account_id == other.pk
    assert AuditEntry.objects.filter(action="account.deleted", resource_id=made["id"]).exists()


def test_only_a_demo_is_removed() -> None:
    account = factories.account()
    with pytest.raises(CommandError, match="is not a demo account"):
        remove(account.pk)
    assert Account.objects.get() == account


def test_its_decisions_are_of_the_last_days_and_of_every_kind() -> None:
    api = ApiClient(seed()["key"])
    decisions = api.get("/v1/access/decisions", limit=1)
    assert decisions["totalCount"] > 200
    assert len({event.created.date() for event in AccessEvent.objects.all()}) >= DAYS
    # No wallet is used up yet, and no key is restricted to hosts.
    others = {Reason.CREDITS_EXHAUSTED, Reason.QUOTA_EXCEEDED, Reason.HOST_NOT_ALLOWED}
    assert {event.reason for event in AccessEvent.objects.all()} == {None, *({*Reason} - others)}
    newest = decisions["data"][0]
    assert (
        newest["created"]
        <= api.post("/v1/access/check", {"externalId": demo_account.SHOWN, "requester": "a"})["created"]
    )


def test_nothing_was_decided_before_it_was_there() -> None:
    seed()
    first = AccessEvent.objects.earliest("created").created
    for model in (Content, Policy):
        assert not model.objects.filter(created__gt=first).exists()


def test_the_same_seed_decides_the_same_and_another_does_not() -> None:
    now = timezone.now()
    runs = []
    for number in (3, 3, 4):
        demo_account.seed_demo(now, number, DAYS)
        runs.append(decided())
        AccessEvent.objects.all().delete()
    assert runs[0] == runs[1] != runs[2]


def test_if_empty_does_nothing_where_there_is_an_account() -> None:
    factories.account()
    assert seed("--if-empty") == {"object": "demo", "seeded": False}
    assert (Account.objects.count(), Content.objects.count()) == (1, 0)


def test_if_empty_seeds_an_empty_database() -> None:
    assert seed("--if-empty")["seeded"] is True


def test_all_is_made_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(demo_account, "record_visits", fail)
    with pytest.raises(RuntimeError):
        seed()
    assert not Account.objects.exists()


def test_people_get_the_account_the_keys_and_the_line() -> None:
    out = io.StringIO()
    call_command("seed_demo", "--days", "3", stdout=out)
    text = out.getvalue()
    assert Account.objects.get().pk in text
    assert "svc_sk_" in text
    assert text.rstrip().splitlines()[-1].lstrip().startswith("curl -s http://")


def test_two_customers_paid_in_advance_and_one_has_nearly_used_it_up() -> None:
    api = ApiClient(seed()["key"])
    wallets = {wallet["requesterId"]: wallet for wallet in api.get("/v1/wallets")["data"]}
    assert {name: (one["unit"], one["balance"]) for name, one in wallets.items()} == {
        "org_curlew": ("USD", 34),
        "org_moorhen": ("access", 10),
    }
    assert api.get("/v1/payments")["totalCount"] == 2
    for wallet in wallets.values():
        entries = api.get(f"/v1/wallets/{wallet['id']}/entries", limit=100)
        assert entries["totalCount"] == 1 + {"USD": 120, "access": 240}[wallet["unit"]]
        assert [entry["created"] for entry in entries["data"]] == sorted(
            (entry["created"] for entry in entries["data"]), reverse=True
        )
    low = [event["data"] for event in api.get("/v1/events", type="wallet.low")["data"]]
    assert [one["requesterId"] for one in low] == ["org_moorhen"]


def test_its_site_has_crawlers_that_take_and_readers_whom_they_send() -> None:
    api = ApiClient(seed()["key"])
    [site] = api.get("/v1/sites")["data"]
    assert (site["host"], site["mode"]) == ("saltmarsh.example", "observe")
    report = api.get("/v1/analytics/crawlers", period="30d")
    assert {one["crawlerClass"] for one in report["byClass"]} == {"ai_training", "ai_input", "search"}
    operators = {one["operator"]: one for one in report["byOperator"]}
    assert operators["OpenAI"]["violations"] > 0
    assert operators["OpenAI"]["crawlsPerReferral"] > operators["Google"]["crawlsPerReferral"] > 0
    assert report["summary"]["revenueAtStake"][0]["amount"] > 0
    assert len({one["date"] for one in report["timeSeries"]}) >= DAYS - 1


def test_it_earns_in_three_currencies_and_reports_them_in_one() -> None:
    api = ApiClient(seed()["key"])
    entries = api.get("/v1/revenue", limit=100)["data"]
    assert {entry["currency"] for entry in entries} == {"EUR", "GBP", "USD"}
    assert {entry["type"] for entry in entries} == {"license", "usage"}
    report = api.get("/v1/analytics/revenue", currency="USD", period="30d")
    assert report["summary"]["total"] > 0
    assert set(report["byLicenseType"]) >= {"enterprise", "commercial", "academic"}


def test_its_reports_agree_with_its_decisions() -> None:
    api = ApiClient(seed()["key"])
    report = api.get("/v1/analytics/usage", period="30d")
    assert report["summary"]["totalRequests"] == api.get("/v1/access/decisions", limit=1)["totalCount"]


def test_items_can_come_from_files(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures.jsonl"
    row = {"acno": "A1", "title": "Boat", "artist": "N. N.", "url": "https://e.com/1", "medium": "Ink", "subjects": []}
    pictures.write_text("\n".join(json.dumps(row | {"acno": f"A{number}"}) for number in range(40)))
    articles = tmp_path / "articles.csv"
    articles.write_text("subfolder_name,dataset_url,article_url\nPolls,https://e.com/d,https://e.com/a\n")
    api = ApiClient(seed("--items", str(pictures), "--items", str(articles))["key"])
    assert api.get("/v1/content", type="image", externalId="A7")["totalCount"] == 1
    assert api.get("/v1/content", source="https://e.com/a")["data"][0]["title"] == "Polls"


def test_a_file_of_another_kind_is_refused_by_its_columns(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("name,price\nBoat,3\n")
    with pytest.raises(CommandError, match=r"acno.*article_url"):
        seed("--items", str(other))
    assert not Account.objects.exists()


def test_the_first_start_makes_somebody_who_can_sign_in_to_the_admin() -> None:
    operator = seed()["operator"]
    assert operator["address"].endswith("/admin/")
    assert Client().login(username=operator["username"], password=operator["password"])


def test_where_somebody_can_sign_in_already_nobody_is_made() -> None:
    create_operator("anna", superuser=True)
    assert seed()["operator"] is None
    assert User.objects.count() == 1
