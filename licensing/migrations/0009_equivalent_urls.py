from hashlib import blake2b

from django.db import migrations
from django.db.models import F

from kit.values.urls import normalise

CHUNK = 2_000


def give_keys(apps, schema_editor):
    """Of the normal form of their URL to all items, and the accounts another epoch, under which nothing is cached.

    A key has never been unique: items whose URLs turn out to be equivalent stay, and the newest active one is found,
    as with items of the same URL.
    """
    items = apps.get_model("licensing", "Content").objects
    accounts, last = set(), None
    while True:
        rest = items.exclude(source=None).order_by("pk").only("id", "account_id", "source", "source_key")
        chunk = list(rest.filter(pk__gt=last)[:CHUNK] if last else rest[:CHUNK])
        if not chunk:
            break
        last, changed = chunk[-1].pk, []
        for item in chunk:
            key = blake2b(normalise(item.source).encode(), digest_size=16).digest()
            if key != bytes(item.source_key or b""):
                item.source_key = key
                changed.append(item)
                accounts.add(item.account_id)
        items.bulk_update(changed, ["source_key"], batch_size=200)
    apps.get_model("accounts", "Account").objects.filter(pk__in=accounts).update(epoch=F("epoch") + 1)


class Migration(migrations.Migration):
    dependencies = [("licensing", "0008_requesters_by_account_once")]
    operations = [migrations.RunPython(give_keys, migrations.RunPython.noop)]
