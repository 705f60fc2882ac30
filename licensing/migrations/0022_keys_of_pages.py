from collections import Counter

from django.conf import settings
from django.db import migrations, models, transaction
from django.db.models import Count, Q

from kit.values.canonical_pages import RegisteredPage

CHUNK = 1_000


class AddIndexBesideWrites(migrations.AddIndex):
    """On PostgreSQL concurrently: nobody waits for it, and it may take long."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        model = to_state.apps.get_model(app_label, self.model_name)
        options = {"concurrently": True} if schema_editor.connection.vendor == "postgresql" else {}
        drop = "DROP INDEX CONCURRENTLY" if options else "DROP INDEX"
        schema_editor.execute(f'{drop} IF EXISTS "{self.index.name}"')  # of a run that was interrupted
        schema_editor.add_index(model, self.index, **options)


def give_keys(apps, schema_editor):
    """In transactions of a thousand items, so that a running service waits for none of them; run again, it goes on.

    Of several parameters the one counts that fewest other items have (licensing.content.url_key).
    """
    items = apps.get_model("licensing", "Content").objects
    without = items.exclude(source=None).filter(page_key=None).order_by("pk").only("id", "account_id", "source")
    last = None
    while chunk := list((without.filter(pk__gt=last) if last else without)[:CHUNK]):
        last = chunk[-1].pk
        possible = {item.pk: RegisteredPage.from_url(item.source, settings.SAME_PAGE).keys for item in chunk}
        wanted = {key for keys in possible.values() if len(keys) > 1 for key in keys}
        alike = items.filter(account_id__in={item.account_id for item in chunk}, page_key__in=wanted, deleted_at=None)
        found = alike.order_by().values_list("account_id", "page_key").annotate(Count("pk"))
        counts = Counter({(account, bytes(key)): count for account, key, count in found})
        rows = []
        for item in chunk:
            key = min(possible[item.pk], key=lambda key: counts[item.account_id, key])
            counts[item.account_id, key] += 1
            rows.append((key, items.model._meta.pk.get_db_prep_value(item.pk, schema_editor.connection)))
        with transaction.atomic(), schema_editor.connection.cursor() as cursor:
            cursor.executemany("UPDATE licensing_content SET page_key = %s WHERE id = %s", rows)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("licensing", "0021_page_key")]

    operations = [
        AddIndexBesideWrites(
            "content",
            models.Index(condition=Q(("deleted_at", None)), fields=["account", "page_key"], name="content_by_page"),
        ),
        migrations.RunPython(give_keys, migrations.RunPython.noop, atomic=False),
    ]
