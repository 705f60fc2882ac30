import asyncio
import signal
from typing import Any

from django.core.management.base import CommandParser

from accounts.webhooks.worker import Worker
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Delivers webhooks until it is told to end (SIGTERM, Ctrl-C). Any number of these run beside each other."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--until-idle", action="store_true", help="End as soon as nothing is due.")

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        worker = Worker(until_idle=options["until_idle"])
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        asyncio.run(worker.run())
        return f"Made {worker.made} attempts.", {"attempts": worker.made}
