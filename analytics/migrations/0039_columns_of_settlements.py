import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """What payments have beside the columns of the ledger."""

    dependencies = [("analytics", "0038_voids_of_payments")]

    operations = [
        migrations.AddField(
            "ledgerentry",
            name,
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to=model,
            ),
        )
        for name, model in (("grant", "analytics.grant"), ("reverses", "analytics.ledgerentry"))
    ]
