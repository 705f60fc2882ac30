from django.db import migrations, models


class Migration(migrations.Migration):
    """The address that statements print."""

    dependencies = [("accounts", "0026_indexes_of_customers")]

    operations = [
        migrations.AddField(
            "account",
            "address",
            models.CharField(
                blank=True,
                help_text="Printed below the name, in as many lines, such as the street, the city and the VAT id.",
                max_length=500,
                null=True,
                verbose_name="address on statements",
            ),
        ),
    ]
