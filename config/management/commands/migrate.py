from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from kit.storage.lock_waits import short_lock_waits, until_unlocked


class Command(migrate.Command):
    """Django's command, which never makes a running service wait for long.

    A migration in a transaction that does not get its locks is rolled back and run again. Migrations that have run are
    recorded, so the command continues where it was.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        with short_lock_waits(connections[options["database"]]):
            until_unlocked(lambda: super(Command, self).handle(*args, **options))
