from django.db import migrations, models

import kit.values.amounts

EVERY = [("month", "Month"), ("quarter", "Quarter"), ("year", "Year")]


class Migration(migrations.Migration):
    """Recurring fees of licences."""

    dependencies = [("licensing", "0036_aliases_of_sites")]

    operations = [
        migrations.AddField("license", "fee_amount", kit.values.amounts.AmountField(blank=True, null=True)),
        migrations.AddField("license", "fee_currency", models.CharField(blank=True, max_length=3, null=True)),
        migrations.AddField(
            "license", "fee_every", models.CharField(blank=True, choices=EVERY, max_length=7, null=True)
        ),
        migrations.AddField(
            "license", "fee_months", models.PositiveIntegerField(db_default=0, default=0, editable=False)
        ),
        migrations.AddField("license", "fee_zone", models.CharField(editable=False, max_length=64, null=True)),
        migrations.AddField("license", "next_fee_at", models.DateTimeField(editable=False, null=True)),
    ]
