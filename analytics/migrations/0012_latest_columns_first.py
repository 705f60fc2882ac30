import django.db.models.deletion
from django.db import migrations, models

FOLD_LOCK = 7_202_611_042  # analytics.rollups.roll_up.LOCK
KEYS = {
    "contentyear": ("account_id", "content_id", "year"),
    "requesteryear": ("account_id", "requester_id", "year"),
    "contentmonth": ("account_id", "month", "content_id"),
    "requestermonth": ("account_id", "month", "requester_id"),
}
COUNTS = {
    "year": ("allowed", *(f"m{month}" for month in range(12, 0, -1))),
    "month": tuple(f"d{day}" for day in range(31, 0, -1)),
}
OTHERS = {"content": "licensing.content", "requester": "licensing.requester"}


def set_aside(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        # What is added between the copy and the drop would be lost.
        schema_editor.execute(f"SELECT pg_advisory_xact_lock({FOLD_LOCK})")
        schema_editor.execute(f"LOCK TABLE {', '.join(f'analytics_{name}' for name in KEYS)}")
    for name in KEYS:
        schema_editor.execute(f"CREATE TABLE analytics_{name}_before AS SELECT * FROM analytics_{name}")


def put_back(apps, schema_editor):
    for name, key in KEYS.items():
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"ALTER TABLE analytics_{name} SET (fillfactor = 80)")
        columns = ", ".join((*key, *COUNTS[period_of(name)]))
        schema_editor.execute(
            f"INSERT INTO analytics_{name} ({columns})"
            f" SELECT {columns} FROM analytics_{name}_before ORDER BY {', '.join(key)}"
        )
        schema_editor.execute(f"DROP TABLE analytics_{name}_before")
        schema_editor.execute(f"ANALYZE analytics_{name}")


def period_of(name):
    return "year" if name.endswith("year") else "month"


def made_anew(name):
    one, period = name.removesuffix(period_of(name)), period_of(name)
    unbound = {"db_constraint": False, "db_index": False}
    number, count = {
        "year": (models.PositiveSmallIntegerField, models.BigIntegerField),
        "month": (models.PositiveIntegerField, models.IntegerField),
    }[period]
    fields = [
        ("account", models.ForeignKey("accounts.account", django.db.models.deletion.CASCADE, **unbound)),
        (one, models.ForeignKey(OTHERS[one], django.db.models.deletion.DO_NOTHING, **unbound)),
        (period, number()),
        *((column, count(**({} if column == "allowed" else {"db_default": 0}))) for column in COUNTS[period]),
        ("pk", models.CompositePrimaryKey(*KEYS[name], blank=True, editable=False, primary_key=True, serialize=False)),
    ]
    return migrations.CreateModel(f"{one.title()}{period.title()}", fields)


class Migration(migrations.Migration):
    """The keys first, then the counts, the latest first; the key itself instead of a number for each row.

    A row's columns lie in the order in which they were made, so the tables are made anew and filled with what they had.
    """

    dependencies = [
        ("accounts", "0005_audit_of_kind"),
        ("analytics", "0011_room_for_new_versions"),
        ("licensing", "0008_requesters_by_account_once"),
    ]

    operations = [
        migrations.RunPython(set_aside, put_back),
        *(migrations.DeleteModel(name) for name in KEYS),
        *map(made_anew, KEYS),
        migrations.RunPython(put_back, set_aside),
    ]
