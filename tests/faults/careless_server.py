"""`manage.py serve` with two faults that the durability tests must detect.

The recorder answers before it commits, and the process does not hear of its own changes.
"""

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

from accounts.plans import epochs  # noqa: E402 - needs the models
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


class NoListeners(list[object]):
    def append(self, listener: object) -> None:
        """Do not add it."""


if __name__ == "__main__":
    vars(epochs)["listeners"] = NoListeners()
    recorder.record = record_later
    execute_from_command_line(["manage.py", "serve", *sys.argv[1:]])
