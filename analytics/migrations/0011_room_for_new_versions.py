from django.db import migrations

ROLLUPS = (
    *("contentmonth", "contentyear", "requestermonth", "requesteryear"),
    *("contentrevenue", "contentrevenueyear", "requesterrevenue", "requesterrevenueyear"),
)


def set_fillfactor(value):
    def alter(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            for name in ROLLUPS:
                schema_editor.execute(f"ALTER TABLE analytics_{name} SET (fillfactor = {value})")

    return alter


class Migration(migrations.Migration):
    """Room on each page of the rollups for new versions of its rows, which then need no new entries in the indexes."""

    dependencies = [("analytics", "0010_revenue_of_years")]

    operations = [migrations.RunPython(set_fillfactor(80), set_fillfactor(100))]
