import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import kit.values.amounts
import kit.values.ids

CHARGE_KINDS, SETTLEMENT_KINDS = "('license', 'fee', 'usage', 'adjustment')", "('payment', 'payout')"
CHARGE = ["id", "account_id", "type", "amount", "currency", "occurred_at", "license_id", "license_type", "decision_id",
          "content_id", "requester_id", "fee_id", "description", "external_id", "created"]  # fmt: skip
# Columns of payments, and of their entries.
PAYMENT = {
    "id": "id",
    "account_id": "account_id",
    "requester_id": "requester_id",
    "kind": "type",
    "amount": "amount",
    "currency": "currency",
    "received_at": "occurred_at",
    "external_id": "external_id",
    "note": "description",
    "grant_id": "grant_id",
    "reverses_id": "reverses_id",
    "created": "created",
}
FORMER = "analytics_formerpayment"
REDACTS = "EXISTS (SELECT 1 FROM accounts_redaction)"
MESSAGE = "the ledger is append-only: a correction is an entry of its own"

CHARGES_VIEW = f"""CREATE VIEW analytics_ledgerentry AS
  SELECT {", ".join(CHARGE)} FROM analytics_entry WHERE type IN {CHARGE_KINDS}"""
PAYMENTS_VIEW = f"""CREATE VIEW analytics_payment AS
  SELECT {", ".join(f"entry.{column} AS {name}" for name, column in PAYMENT.items())},
    (SELECT created FROM analytics_entry void WHERE void.reverses_id = entry.id) AS voided_at,
    (SELECT description FROM analytics_entry void WHERE void.reverses_id = entry.id) AS void_reason
  FROM analytics_entry entry WHERE entry.type IN {SETTLEMENT_KINDS}"""


def columns_of(row, names):
    return ", ".join(f"{row}.{name}" for name in names)


def change(names, entry_columns):
    """Return SQL that changes an entry as its view was changed, unless nothing changed."""
    values = ", ".join(f"{column} = NEW.{name}" for name, column in zip(names, entry_columns, strict=True))
    return (
        f"UPDATE analytics_entry SET {values} WHERE id = OLD.id "
        f"AND ({columns_of('OLD', names)}) IS DISTINCT FROM ({columns_of('NEW', names)});"
    )


def insertion(names, entry_columns):
    values = columns_of("NEW", names).replace("NEW.kind", "coalesce(NEW.kind, 'payment')")
    return f"INSERT INTO analytics_entry ({', '.join(entry_columns)}) VALUES ({values});"


# The previous version voids a payment by an update, and redacts both texts.
VOID = """INSERT INTO analytics_entry
    (id, account_id, requester_id, type, amount, currency, occurred_at, description, grant_id, reverses_id, created)
  SELECT {new_id}, NEW.account_id, NEW.requester_id, NEW.kind, -NEW.amount, NEW.currency, NEW.voided_at,
    NEW.void_reason, NEW.grant_id, NEW.id, NEW.voided_at
  WHERE NEW.voided_at IS DISTINCT FROM OLD.voided_at;
  UPDATE analytics_entry SET description = NEW.void_reason WHERE reverses_id = OLD.id
    AND NEW.voided_at IS NOT DISTINCT FROM OLD.voided_at AND NEW.void_reason IS DISTINCT FROM OLD.void_reason;"""
DELETION = "DELETE FROM analytics_entry WHERE id = OLD.id;"


def instead(schema_editor, view, event, body):
    """Let a statement on a view change the entries."""
    name = f"{view.removeprefix('analytics_')}_{event.lower()}"
    if schema_editor.connection.vendor == "sqlite":
        body = body.replace("IS NOT DISTINCT FROM", "IS").replace("IS DISTINCT FROM", "IS NOT")
        schema_editor.execute(f"CREATE TRIGGER {name} INSTEAD OF {event} ON {view} BEGIN {body} END", None)
        return
    schema_editor.execute(
        f"CREATE FUNCTION analytics_{name}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {body} RETURN NEW; END $$",
        None,
    )
    schema_editor.execute(
        f"CREATE TRIGGER {name} INSTEAD OF {event} ON {view} FOR EACH ROW EXECUTE FUNCTION analytics_{name}()", None
    )


def protect(schema_editor, table, columns, *, but_payments):
    """Refuse changes of the ledger, and deletions of accounts that are no demos. Payments go with their account."""
    permitted = "EXISTS (SELECT 1 FROM accounts_account WHERE id = OLD.account_id AND is_demo)"
    if but_payments:
        permitted = f"(OLD.type IN {SETTLEMENT_KINDS} OR {permitted})"
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            f"CREATE OR REPLACE FUNCTION analytics_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF TG_OP = 'DELETE' THEN IF {permitted} THEN RETURN OLD; END IF; "
            f"ELSIF {REDACTS} AND to_jsonb(NEW) - 'description' = to_jsonb(OLD) - 'description' THEN RETURN NEW; END IF; "
            f"RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation'; END $$",
            None,
        )
        return
    old, new = columns_of("OLD", columns), columns_of("NEW", columns)
    refused = {"delete": f"NOT {permitted}", "update": f"NOT {REDACTS} OR ({old}) IS NOT ({new})"}
    for event, condition in refused.items():
        schema_editor.execute(f"DROP TRIGGER IF EXISTS ledger_refuses_{event}")
        schema_editor.execute(
            f"CREATE TRIGGER ledger_refuses_{event} BEFORE {event} ON {table} WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END",
            None,
        )


def move_payments(apps, schema_editor):
    """Make payments entries of the ledger's table, and views of both that are written as the tables were.

    Payments are few: one statement moves them, before the ledger is locked. PostgreSQL writes charges through their
    view by itself.
    """
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    names, columns = list(PAYMENT), list(PAYMENT.values())
    if is_postgresql:
        schema_editor.execute("LOCK TABLE analytics_payment IN SHARE ROW EXCLUSIVE MODE")
    schema_editor.execute(
        f"INSERT INTO analytics_ledgerentry ({', '.join(columns)}) SELECT {', '.join(names)} FROM analytics_payment"
    )
    schema_editor.execute("DELETE FROM analytics_payment")
    schema_editor.execute(f"ALTER TABLE analytics_payment RENAME TO {FORMER}")
    schema_editor.execute("ALTER TABLE analytics_ledgerentry RENAME TO analytics_entry")
    kept = [column for column in CHARGE if column != "description"]
    protect(schema_editor, "analytics_entry", [*kept, "grant_id", "reverses_id"], but_payments=True)
    schema_editor.execute(CHARGES_VIEW, None)
    schema_editor.execute(PAYMENTS_VIEW, None)
    new_id = "gen_random_uuid()" if is_postgresql else "randomblob(16)"
    instead(schema_editor, "analytics_payment", "INSERT", insertion(names, columns))
    instead(schema_editor, "analytics_payment", "UPDATE", change(names, columns) + VOID.format(new_id=new_id))
    if not is_postgresql:
        instead(schema_editor, "analytics_payment", "DELETE", DELETION)
        instead(schema_editor, "analytics_ledgerentry", "INSERT", insertion(CHARGE, CHARGE))
        instead(schema_editor, "analytics_ledgerentry", "UPDATE", change(CHARGE, CHARGE))
        instead(schema_editor, "analytics_ledgerentry", "DELETE", DELETION)


def move_back(apps, schema_editor):
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    names, columns = list(PAYMENT), list(PAYMENT.values())
    for view in ("analytics_payment", "analytics_ledgerentry"):
        schema_editor.execute(f"DROP VIEW {view}")
    if is_postgresql:
        for event in ("insert", "update"):
            schema_editor.execute(f"DROP FUNCTION analytics_payment_{event}()")
    schema_editor.execute("ALTER TABLE analytics_entry RENAME TO analytics_ledgerentry")
    schema_editor.execute(f"ALTER TABLE {FORMER} RENAME TO analytics_payment")
    voids = "(SELECT {} FROM analytics_ledgerentry void WHERE void.reverses_id = entry.id)"
    former = [*names, "voided_at", "void_reason"]
    values = [f"entry.{column}" for column in columns] + [voids.format(one) for one in ("created", "description")]
    schema_editor.execute(
        f"INSERT INTO analytics_payment ({', '.join(former)}) SELECT {', '.join(values)} "
        f"FROM analytics_ledgerentry entry WHERE type IN {SETTLEMENT_KINDS}"
    )
    schema_editor.execute(f"DELETE FROM analytics_ledgerentry WHERE type IN {SETTLEMENT_KINDS}")
    kept = [column for column in CHARGE if column != "description"]
    protect(schema_editor, "analytics_ledgerentry", kept, but_payments=False)


def key(to, **options):
    return models.ForeignKey(
        db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to=to, **options
    )


TYPES = [("license", "Licence"), ("fee", "Fee"), ("usage", "Usage"), ("adjustment", "Adjustment"),
         ("payment", "Payment"), ("payout", "Payout")]  # fmt: skip


class Migration(migrations.Migration):
    """One table of entries. Its views have the names of the former tables: those of the previous version, too.

    The next release can drop the emptied table of payments, and what the triggers do for the previous version.
    """

    dependencies = [("analytics", "0040_indexes_and_rules_of_entries"), ("licensing", "0032_the_admin_says_customer")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("LedgerEntry", "Entry"),
                migrations.AlterModelOptions(
                    "entry",
                    {
                        "verbose_name": "ledger entry",
                        "verbose_name_plural": "ledger entries",
                        "default_permissions": (),
                    },
                ),
                migrations.AlterField("entry", "type", models.CharField(choices=TYPES, max_length=10)),
                migrations.AlterField("entry", "account", key("accounts.account")),
                migrations.CreateModel(
                    "LedgerEntry",
                    [
                        ("id", kit.values.ids.IdField(editable=False, prefix="led", primary_key=True, serialize=False)),
                        ("type", models.CharField(choices=TYPES[:4], max_length=10)),
                        ("amount", kit.values.amounts.AmountField()),
                        ("currency", models.CharField(max_length=3)),
                        ("occurred_at", models.DateTimeField()),
                        ("license_type", models.CharField(max_length=100, null=True, verbose_name="licence type")),
                        ("description", models.CharField(max_length=500, null=True)),
                        ("external_id", models.CharField(max_length=255, null=True)),
                        ("created", models.DateTimeField(default=django.utils.timezone.now)),
                        ("account", key("accounts.account")),
                        ("content", key("licensing.content", null=True)),
                        ("decision", key("analytics.accessevent", null=True)),
                        ("fee", key("analytics.ledgerentry", null=True)),
                        ("license", key("licensing.license", null=True)),
                        ("requester", key("licensing.requester", null=True, verbose_name="customer")),
                    ],
                    {"managed": False, "verbose_name_plural": "ledger entries"},
                ),
                *(
                    migrations.RemoveIndex("payment", name)
                    for name in ("payments_newest_first", "payments_of_requester", "payments_of_grant")
                ),
                migrations.RemoveConstraint("payment", "one_payment_of_external_id"),
                migrations.AlterModelOptions("payment", {"managed": False}),
                migrations.CreateModel(
                    "BalanceChange",
                    [
                        (
                            "requester",
                            models.OneToOneField(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                primary_key=True,
                                related_name="+",
                                serialize=False,
                                to="licensing.requester",
                            ),
                        ),
                        ("currency", models.CharField(max_length=6)),
                        ("owed", kit.values.amounts.TotalField()),
                        ("revenue", kit.values.amounts.TotalField()),
                        ("credit", kit.values.amounts.TotalField()),
                    ],
                    {"managed": False, "default_permissions": ()},
                ),
            ],
        ),
        migrations.RunPython(move_payments, move_back),
    ]
