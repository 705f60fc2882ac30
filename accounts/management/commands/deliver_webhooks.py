import asyncio
import signal

from django.core.management.base import CommandParser

from accounts.webhooks.worker import Worker
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Delivers webhooks until it is told to end (SIGTERM, Ctrl-C). Several can run side by side."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--until-idle", action="store_true", help="End as soon as nothing is due.")

    def perform(self, *, until_idle: bool, **_: object) -> tuple[str, dict[str, object]]:
        worker = Worker(until_idle=until_idle)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        asyncio.run(worker.run())
        return f"Made {worker.attempts_made} attempts.", {"attempts": worker.attempts_made}
