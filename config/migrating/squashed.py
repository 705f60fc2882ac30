"""Squashed migrations. A new database runs one for each app instead of all those that it replaces."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.migrations import executor
from django.db.migrations.loader import MigrationLoader


class EachMigrationLoader(MigrationLoader):
    """Load migrations without the squashed ones."""

    def load_disk(self) -> None:
        super().load_disk()
        self.disk_migrations = {
            key: migration for key, migration in self.disk_migrations.items() if not migration.replaces
        }


@contextmanager
def replaced_migrations() -> Iterator[None]:
    """Let `migrate` know the replaced migrations, to which a database can then be brought by name."""
    names = vars(executor)
    usual = names["MigrationLoader"]
    names["MigrationLoader"] = EachMigrationLoader
    try:
        yield
    finally:
        names["MigrationLoader"] = usual
