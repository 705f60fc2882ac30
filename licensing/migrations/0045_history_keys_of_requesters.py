from django.db import migrations, transaction

from kit.values.ids import RandomKey

CHUNK = 1_000


def give_keys(apps, schema_editor):
    """In transactions of a thousand requesters; run again, it goes on."""
    requesters = apps.get_model("licensing", "Requester").objects.order_by("pk")
    last = 0
    while chunk := list(requesters.filter(pk__gt=last, history_key=None).values_list("pk", flat=True)[:CHUNK]):
        with transaction.atomic():
            requesters.filter(pk__in=chunk, history_key=None).order_by().update(history_key=RandomKey())
        last = chunk[-1]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("licensing", "0044_history_keys")]

    operations = [migrations.RunPython(give_keys, migrations.RunPython.noop, atomic=False)]
