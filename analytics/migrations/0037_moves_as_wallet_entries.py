from django.db import migrations, transaction
from django.db.models import OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from kit.storage.row_changes import ChangeRows

CHUNK = 1_000
# Two entries for a move that the previous version writes, which then goes.
CARRY = """INSERT INTO analytics_walletentry (id, account_id, wallet_id, requester_id, type, amount, created)
  SELECT {id}, account_id, id, CASE side.sign WHEN 1 THEN NEW.target_id ELSE NEW.source_id END, 'carry',
    side.sign * balance, NEW.created
  FROM analytics_wallet CROSS JOIN (SELECT 1 AS sign UNION ALL SELECT -1) side
  WHERE id = NEW.wallet_id AND balance <> 0;
  DELETE FROM analytics_walletmove WHERE id = NEW.id;"""


def fill_customers(apps, schema_editor):
    """Name the customers of former entries, a thousand in a transaction. Run again, it goes on where it stopped."""
    entries, moves, wallets = (
        apps.get_model("analytics", name).objects for name in ("WalletEntry", "WalletMove", "Wallet")
    )
    later = moves.filter(wallet=OuterRef("wallet"), created__gt=OuterRef("created")).order_by("created")
    holder = wallets.filter(pk=OuterRef("wallet")).values("requester")
    customer = Coalesce(Subquery(later.values("source")[:1]), Subquery(holder))
    unnamed = entries.filter(requester=None).order_by("pk").values_list("pk", flat=True)
    last = None
    while chunk := list((unnamed.filter(pk__gt=last) if last else unnamed)[:CHUNK]):
        last = chunk[-1]
        entries.filter(pk__in=chunk).update(requester_id=customer)


def carry_moves(apps, schema_editor):
    """Replace former moves by entries, and those that the previous version still writes by a trigger."""
    entries, moves = (apps.get_model("analytics", name).objects for name in ("WalletEntry", "WalletMove"))
    entry = entries.model
    with transaction.atomic(using=schema_editor.connection.alias):
        if schema_editor.connection.vendor == "postgresql":
            carry = CARRY.format(id="gen_random_uuid()")
            schema_editor.execute(
                f"CREATE FUNCTION analytics_carry_move() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN {carry} RETURN NULL; END $$"
            )
            schema_editor.execute(
                "CREATE TRIGGER carry_move AFTER INSERT ON analytics_walletmove "
                "FOR EACH ROW EXECUTE FUNCTION analytics_carry_move()"
            )
        else:
            carry = CARRY.format(id="randomblob(16)")
            schema_editor.execute(f"CREATE TRIGGER carry_move AFTER INSERT ON analytics_walletmove BEGIN {carry} END")
        for move in moves.order_by("created", "pk"):
            former = entries.filter(wallet=move.wallet_id, created__lt=move.created)
            carried = former.aggregate(sum=Sum("amount"))["sum"]
            if carried:
                common = {"account_id": move.account_id, "wallet_id": move.wallet_id, "created": move.created}
                entries.bulk_create(
                    [
                        entry(**common, type="carry", requester_id=move.source_id, amount=-carried),
                        entry(**common, type="carry", requester_id=move.target_id, amount=carried),
                    ]
                )
        moves.all().delete()


def keep_moves(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION analytics_carry_move() CASCADE")
    else:
        schema_editor.execute("DROP TRIGGER carry_move")


class Migration(migrations.Migration):
    """Entries instead of moves of wallets. The next release can drop the table of moves and its trigger."""

    atomic = False
    dependencies = [("analytics", "0036_customers_of_wallet_entries")]

    operations = [
        ChangeRows(fill_customers, migrations.RunPython.noop, atomic=False),
        ChangeRows(carry_moves, keep_moves, atomic=False),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("WalletMove")]),
    ]
