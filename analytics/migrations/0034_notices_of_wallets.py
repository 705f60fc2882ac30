from django.db import migrations

import kit.values.amounts


class Migration(migrations.Migration):
    """The next balance that a wallet announces, so that a check compares one number."""

    dependencies = [("analytics", "0033_index_of_fees")]

    operations = [
        migrations.AddField(model_name="wallet", name="notice_at", field=kit.values.amounts.AmountField(null=True)),
    ]
