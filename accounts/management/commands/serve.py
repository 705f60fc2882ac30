import os
import sys
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Serves the API on HOST:PORT with WORKERS processes of THREADS threads each."
    requires_system_checks = []  # run below, so that what they find ends the command with one line

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("check", fail_level="ERROR")
        arguments = [
            sys.executable,
            "-m",
            "granian",
            "--interface=wsgi",
            f"--host={settings.HOST}",
            f"--port={settings.PORT}",
            f"--workers={settings.WORKERS}",
            f"--blocking-threads={settings.THREADS}",
            "--backlog=1024",
            "--no-ws",
            "--respawn-failed-workers",
            "--workers-kill-timeout=30",
            "--log-level=warning",
            "config.wsgi:application",
        ]
        self.stdout.write(f"Serving on http://{settings.HOST}:{settings.PORT}/")
        self.stdout.flush()
        os.execv(sys.executable, arguments)  # noqa: S606 - our own interpreter with fixed arguments
