from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection
from django.db.migrations.executor import MigrationExecutor

from analytics.models import Payment, Statement, Wallet, WalletEntry
from analytics.statements.checking import find_differences
from analytics.statements.sql_view_migrations import drop_all
from licensing.requesters.models import Requester
from tests import factories

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
FIGURES = ("requester_id", "currency", "payments", "payouts", "closing", "credit_granted", "credit_closing")


@pytest.fixture
def latest():
    """Restore the current tables after each test."""
    yield
    call_command("migrate", verbosity=0)


def statements():
    return sorted(Statement.objects.values_list(*FIGURES))


def migrate_back(name):
    """Restore the tables of an earlier version, without its views."""
    with connection.cursor() as cursor:
        drop_all(cursor)
    MigrationExecutor(connection).migrate([("analytics", name)])


def execute(statement, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


@pytest.fixture
def moved(account, api):
    """The wallet of a customer who was merged twice. Credit was granted after each merge."""
    for org in ("org_a", "org_b", "org_c"):
        factories.requester(account, requester_id=org)
    wallet = factories.wallet(account, "EUR", requester_id="org_a")["wallet"]
    for source, target in (("org_a", "org_b"), ("org_b", "org_c")):
        assert api.post(f"/v1/requesters/{source}/merge", {"into": target}).status == 200
        assert api.post(f"/v1/wallets/{wallet}/grants", {"amount": 5}).status == 201
    return Wallet.objects.get(pk=wallet)


def move_as_before(moves, wallet):
    """Write moves of wallets as the earlier version did."""
    key = Wallet._meta.pk.get_db_prep_value(wallet.pk, connection)
    for created, source, target in moves:
        execute(
            "INSERT INTO analytics_walletmove (account_id, wallet_id, source_id, target_id, created) "
            "SELECT account_id, id, %s, %s, %s FROM analytics_wallet WHERE id = %s",
            source,
            target,
            created,
            key,
        )


def carries():
    return list(WalletEntry.objects.filter(type="carry").order_by("created", "amount").values_list(*CARRIED))


CARRIED = ("requester_id", "amount", "created")


def test_moves_of_wallets_become_entries(moved, latest):
    before, entries = statements(), carries()
    a, b, c = Requester.objects.order_by("requester_id").values_list("pk", flat=True)
    assert [(holder, amount) for holder, amount, _ in entries] == [(a, -10), (b, 10), (b, -15), (c, 15)]

    migrate_back("0035_entries_without_item_pending")
    execute("DELETE FROM analytics_walletentry WHERE type = 'carry'")
    move_as_before([(entries[0][2], a, b), (entries[2][2], b, c)], moved)
    call_command("migrate", verbosity=0)

    assert (statements(), carries()) == (before, entries)
    assert find_differences() == []


def test_the_earlier_version_can_still_spend_and_move_wallets(moved):
    holder, target = moved.requester_id, Requester.objects.get(requester_id="org_a").pk
    Wallet.objects.filter(pk=moved.pk).update(balance=Decimal(12))
    without_customer = {"account": moved.account, "wallet": moved, "type": "expire", "created": moved.updated}
    expired = WalletEntry.objects.create(**without_customer, amount=Decimal(-8))
    assert WalletEntry.objects.get(pk=expired.pk).requester_id == holder

    Wallet.objects.filter(pk=moved.pk).update(requester=target)
    move_as_before([(moved.updated, holder, target)], moved)
    assert {(holder, Decimal(-12), moved.updated), (target, Decimal(12), moved.updated)} < set(carries())
    assert find_differences() == []


@pytest.fixture
def payments(account, api):
    """A payment, one that was voided, and a void payment for credit."""
    factories.requester(account, requester_id="org_a")
    kept, wrong = (factories.payment(account, amount, requester_id="org_a") for amount in (5, 7))
    wallet = factories.wallet(account, "USD", requester_id="org_a")["wallet"]
    api.post(f"/v1/wallets/{wallet}/grants", {"amount": 3, "paid": {"amount": 2, "currency": "USD"}})
    for payment in (wrong, Payment.objects.get(grant__isnull=False)):
        assert api.post(f"/v1/payments/{payment.pk}/void", {"reason": "Typing error"}).status == 200
    return kept, wrong


def void_as_before(payment):
    """Void a payment as the earlier version did."""
    key = Payment._meta.pk.get_db_prep_value(payment.pk, connection)
    execute("UPDATE analytics_payment SET voided_at = %s, void_reason = 'Twice' WHERE id = %s", payment.created, key)


def test_former_voids_become_entries(payments, api, latest):
    before, listed = statements(), api.get("/v1/payments")["data"]
    voided = Payment.objects.filter(voided_at__isnull=False).values_list("pk", "voided_at", "void_reason")
    columns = [(at, why, Payment._meta.pk.get_db_prep_value(pk, connection)) for pk, at, why in voided]
    assert len(columns) == 2

    migrate_back("0037_moves_as_wallet_entries")
    for row in columns:
        execute("UPDATE analytics_payment SET voided_at = %s, void_reason = %s WHERE id = %s", *row)
    call_command("migrate", verbosity=0)

    assert (statements(), api.get("/v1/payments")["data"]) == (before, listed)
    assert find_differences() == []


def test_the_earlier_version_can_still_void(payments, api):
    kept, wrong = payments
    void_as_before(kept)
    assert api.get(f"/v1/payments/{kept.pk}")["voidReason"] == "Twice"
    with pytest.raises(IntegrityError):
        void_as_before(wrong)
    assert Statement.objects.get().closing == 0
    assert find_differences() == []


def test_the_earlier_version_can_still_record_a_payment(payments, api):
    kept, _ = payments
    columns = "account_id, requester_id, amount, currency, received_at, external_id, note, created"
    new_id = "gen_random_uuid()" if connection.vendor == "postgresql" else "randomblob(16)"
    key = Payment._meta.pk.get_db_prep_value(kept.pk, connection)
    execute(
        f"INSERT INTO analytics_payment (id, {columns}) SELECT {new_id}, {columns.replace('external_id', '%s')} "  # noqa: S608 - of this test
        "FROM analytics_payment WHERE id = %s",
        "transfer-1",
        key,
    )
    [listed] = api.get("/v1/payments?externalId=transfer-1")["data"]
    assert (listed["kind"], listed["amount"], Statement.objects.get().closing) == ("payment", 5, -10)
    assert "adjustment" not in {one["type"] for one in api.get("/v1/revenue")["data"]}
    assert find_differences() == []
