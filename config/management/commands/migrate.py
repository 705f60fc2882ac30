from contextlib import nullcontext

from django.core.management.commands import migrate
from django.db import connections

from config.migrating.turns import replaced_migrations, turn_to_change
from kit.storage.lock_waits import short_lock_timeout, until_unlocked


class Command(migrate.Command):
    """Django's command. A migration that does not get its locks is rolled back and run again.

    Migrations that have run are recorded, so a second call continues where the first one stopped. One process
    migrates at a time; others, such as replicas that start together, wait and find nothing to do.
    """

    help = "Creates and changes the tables for this version. A running service waits for it only for moments."

    def handle(self, *args: object, database: str, **options: object) -> None:
        loading = replaced_migrations() if options["migration_name"] else nullcontext()
        with turn_to_change(database, self.stderr.write), short_lock_timeout(connections[database]), loading:
            until_unlocked(lambda: super(Command, self).handle(*args, database=database, **options))
