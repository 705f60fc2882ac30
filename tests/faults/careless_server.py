"""`manage.py serve` with a recorder that answers before it commits, which the durability tests must detect."""

import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from threading import Timer

import django
from django.core.management import execute_from_command_line
from django.db import connection, transaction

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from analytics.recording import recorder  # noqa: E402 - needs the models
from analytics.recording.recorder import Entry, Outcome  # noqa: E402

SECONDS_LATE = 0.3
record_now = recorder.record


def record_later(entries: Sequence[Entry], _within: timedelta | None = None) -> list[Outcome]:
    def record() -> None:
        with transaction.atomic():
            record_now(entries)
        connection.close()

    Timer(SECONDS_LATE, record).start()
    return [Outcome(room=entry.claim and entry.claim.allowance) for entry in entries]


if __name__ == "__main__":
    recorder.record = record_later
    execute_from_command_line(["manage.py", "serve", *sys.argv[1:]])
