from typing import Any

import uvicorn
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Serves the API on HOST:PORT with WORKERS processes."
    requires_system_checks = []  # run below, so that errors alone keep it from starting

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("check", fail_level="ERROR")
        self.stdout.write(f"Serving on http://{settings.HOST}:{settings.PORT}/")
        uvicorn.run(
            "config.asgi:application",
            host=settings.HOST,
            port=settings.PORT,
            workers=settings.WORKERS,
            loop="uvloop",
            http="config.protocol:BoundedProtocol",
            lifespan="on",
            backlog=2048,
            access_log=False,
            log_config=None,  # Django's logging serves for both
            server_header=False,
            proxy_headers=False,  # config.api.middleware decides whom to believe
            timeout_graceful_shutdown=30,
        )
