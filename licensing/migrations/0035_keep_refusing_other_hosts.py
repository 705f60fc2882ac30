"""Hosts without a site are open by default now. Accounts that refused them, because a site enforces, keep refusing."""

from django.db import migrations

BATCH = 500


def keep_refusing(apps, schema_editor):
    accounts = apps.get_model("accounts", "Account").objects.filter(unknown_host=None)
    enforcing = apps.get_model("licensing", "Site").objects.filter(mode="enforce").values("account_id")
    keys = list(accounts.filter(pk__in=enforcing).values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        accounts.filter(pk__in=keys[start : start + BATCH]).update(unknown_host="deny")


class Migration(migrations.Migration):
    dependencies = [("licensing", "0034_former_names"), ("accounts", "0022_settings_of_accounts")]

    operations = [migrations.RunPython(keep_refusing, migrations.RunPython.noop)]
