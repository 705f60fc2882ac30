import json
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Account, AuditEntry
from analytics.models import AccessEvent, LedgerEntry
from licensing.account_deletion import models_in_deletion_order
from licensing.content.models import Content
from licensing.demo import account as demo_account
from licensing.demo import prepaid
from operators.staff.services import create_operator
from tests import factories
from tests.client import ApiClient
from tests.commands.calling import printed, printed_json
from tests.commands.seeding import DAYS, seed
from tests.lock_waits import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _few_prepaid_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let prepaid customers check three times. All their checks take two thirds of the time; test_demo.py has them."""
    monkeypatch.setattr(prepaid, "PREPAID", [one._replace(checks=3) for one in prepaid.PREPAID])


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


def test_its_curl_line_is_allowed_again_and_again_and_a_second_demo_is_made_only_where_asked_for(
    settings: Any,
) -> None:
    settings.HOST, settings.PORT = "0.0.0.0", 8123  # noqa: S104
    url, headers, body = curl(seed()["curl"])
    assert url == "http://127.0.0.1:8123/v1/access/check"
    client = ApiClient(None, **headers)
    for _ in range(20):
        reply = client.post("/v1/access/check", body)
        assert (reply.status, reply["allowed"]) == (200, True)

    with pytest.raises(CommandError, match="add --beside"):
        seed()
    text = printed("seed_demo", "--days", "3", "--beside")  # people get the account, the keys and the line
    assert Account.objects.latest("created").pk in text
    assert "svc_sk_" in text
    assert text.rstrip().splitlines()[-1].lstrip().startswith("curl -s http://")
    assert len(set(Account.objects.values_list("name", flat=True))) == 2


def test_no_demo_is_made_among_real_accounts_by_a_slip_and_none_of_them_is_removed() -> None:
    account = factories.account()
    with pytest.raises(CommandError, match="There are accounts already"):
        seed()
    assert seed("--if-empty") == {"object": "demo", "seeded": False}
    assert (Account.objects.count(), Content.objects.count()) == (1, 0)
    with pytest.raises(CommandError, match="is not a demo account"):
        call_command("remove_demo", account.pk)
    assert Account.objects.get() == account


def test_a_demo_is_removed_with_its_ledger_and_nothing_else() -> None:
    other = factories.account()
    factories.license(other, price_amount=Decimal(5), price_currency="EUR")
    made = seed("--beside")["account"]
    assert LedgerEntry.objects.filter(account=made["id"]).exists()
    assert printed_json("remove_demo", made["id"]) == {"id": made["id"], "object": "account", "deleted": True}
    for model, way in models_in_deletion_order():
        assert not model._base_manager.filter(**{way: made["id"]}).exists(), model
    assert [account.pk for account in Account.objects.all()] == [other.pk]
    assert LedgerEntry.objects.get().account_id == other.pk
    assert AuditEntry.objects.filter(action="account.deleted", resource_id=made["id"]).exists()


def test_the_same_seed_decides_the_same_and_another_does_not() -> None:
    now = timezone.now()
    runs = []
    for number in (3, 3, 4):
        demo_account.seed_demo(now, number, DAYS)
        runs.append(decided())
        AccessEvent.objects.all().delete()
    assert runs[0] == runs[1] != runs[2]


def test_all_is_made_or_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo_account, "record_visits", Mock(side_effect=RuntimeError))
    with pytest.raises(RuntimeError):
        seed()
    assert not Account.objects.exists()

    other = tmp_path / "other.csv"
    other.write_text("name,price\nBoat,3\n")
    with pytest.raises(CommandError, match=r"acno.*article_url"):
        seed("--items", str(other))
    assert not Account.objects.exists()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no partitions")
@pytest.mark.django_db(transaction=True)
def test_lists_are_read_while_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def count() -> int:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '2s'")
            return AccessEvent.objects.count()

    def read(*_: Any) -> None:
        [number] = at_once(count)
        raise RuntimeError(f"{number} decisions were read")

    monkeypatch.setattr(demo_account, "create_policies", read)
    with pytest.raises(RuntimeError, match="0 decisions were read"):
        seed("--days", "1000")


def test_items_can_come_from_files(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures.jsonl"
    row = {"acno": "A1", "title": "Boat", "artist": "N. N.", "url": "https://e.com/1", "medium": "Ink", "subjects": []}
    pictures.write_text("\n".join(json.dumps(row | {"acno": f"A{number}"}) for number in range(40)))
    articles = tmp_path / "articles.csv"
    articles.write_text("subfolder_name,dataset_url,article_url\nPolls,https://e.com/d,https://e.com/a\n")
    api = ApiClient(seed("--items", str(pictures), "--items", str(articles))["key"])
    assert api.get("/v1/content", type="image", externalId="A7")["totalCount"] == 1
    assert api.get("/v1/content", source="https://e.com/a")["data"][0]["title"] == "Polls"


def test_an_empty_database_gets_no_second_operator() -> None:
    create_operator("anna", superuser=True)
    made = seed("--if-empty")
    assert (made["seeded"], made["operator"]) == (True, None)
    assert User.objects.count() == 1
