import os
import sys

import dj_database_url
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connection, connections

from accounts.models import Account
from analytics.rollups.rebuild import rebuild
from config.copying import SOURCE, CopyError, copy, finish
from kit.commands import ServiceCommand

FROM = "COPY_FROM"  # the source's URL, for the process that has the target as its database


class Command(ServiceCommand):
    help = (
        "Copies a SQLite installation into an empty, migrated PostgreSQL database, verifies counts and sums, and "
        "recomputes usage figures. Stop the service before. If it is interrupted, run it again to continue."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("database_url", metavar="DATABASE_URL")

    def perform(self, *, database_url: str, json: bool, **_: object) -> tuple[str, dict[str, object]]:
        if FROM not in os.environ:
            restart_with(database_url)
        connections.settings[SOURCE] = connections.configure_settings(
            {"default": settings.DATABASES["default"], SOURCE: dict(dj_database_url.parse(os.environ[FROM]))}
        )[SOURCE]
        try:
            rows = copy(lambda line: self.stderr.write(line) if not json else None)
        except CopyError as error:
            raise CommandError(str(error)) from None
        rebuild([account.pk for account in Account.objects.order_by("pk")])
        finish()
        total = sum(rows.values())
        file = connections.settings[SOURCE]["NAME"]
        sentence = (
            f"Copied {total:,} rows of {len(rows)} tables. Set DATABASE_URL and start the service. "
            f"Then rename {file}: a command without DATABASE_URL would work on it and report success."
        )
        return sentence, {"object": "copy", "rows": total, "tables": rows}


def restart_with(database_url: str) -> None:
    """Run this command in a new interpreter whose database is the target, because settings are fixed at the start."""
    if connection.vendor != "sqlite" or not database_url.startswith(("postgresql:", "postgres:")):
        raise CommandError("This copies from SQLite (DATABASE_URL of this process) to PostgreSQL (the argument).")
    source = f"sqlite:///{connection.settings_dict['NAME']}"
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "DATABASE_URL": database_url, FROM: source})  # noqa: S606
