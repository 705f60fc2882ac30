"""Whether the database has the tables that this version of the code needs."""

from functools import cache

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Migration = tuple[str, str]  # app and name


@cache
def required_migrations() -> frozenset[Migration]:
    """Return the migrations of this version, without squashed ones, because what they replace is recorded as well."""
    migrations = MigrationLoader(None).disk_migrations
    return frozenset(key for key, migration in migrations.items() if not migration.replaces)


def pending_migrations() -> list[str]:
    """Return the migrations that the database lacks, such as `licensing.0026_names`, in order.

    Ignores migrations of a later version, which may have migrated while this process serves.
    """
    applied = MigrationRecorder(connection).applied_migrations()
    return [f"{app}.{name}" for app, name in sorted(required_migrations() - applied.keys())]
