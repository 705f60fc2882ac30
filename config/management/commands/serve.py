import logging
import os
import sys
import time
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException
from threading import Thread

import uvicorn
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections
from uvicorn.config import STARTUP_FAILURE

from accounts.keys import pepper
from accounts.limits.limiter import Limiter
from analytics.archive.system_checks import archive_can_be_read
from config import copying
from config.migrating.pending import pending_migrations
from config.server.connections import allow_connections
from config.server.stopping import StoppingServer
from config.server.workers import Workers
from kit.ports import why_unusable
from kit.storage.outage_causes import is_read_only
from kit.storage.postgresql.poolers import are_sessions_shared, keeps_no_session_state
from kit.telemetry.output import is_log_json, log_output, log_uncaught_errors
from kit.telemetry.workers import shared_metrics
from licensing.content.rekeying import has_stale_keys

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Serves the API on HOST:PORT with WORKERS processes."
    requires_system_checks = []  # run below, so that only errors prevent the start

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--admin-port",
            type=int,
            metavar="PORT",
            default=settings.ADMIN_PORT,
            help="Serve the admin on this port and on no other. By default ADMIN_PORT; without one it is on PORT.",
        )

    def handle(self, *args: object, admin_port: int, **options: object) -> None:
        log_uncaught_errors()
        issues = self.stderr
        if is_log_json():
            self.stdout = log_output(logger, logging.INFO)
            self.stderr = log_output(logger, logging.ERROR)  # Django writes CommandErrors to it
            issues = log_output(logger, logging.WARNING)
        if not 0 <= admin_port <= 65_535 or admin_port == settings.PORT:
            raise CommandError(f"The admin's port must be from 1 to 65535 and not {settings.PORT}, the API's.")
        # For this process's middleware and its worker processes.
        settings.ADMIN_PORT = admin_port
        os.environ["ADMIN_PORT"] = str(admin_port or "")
        call_command("check", fail_level="ERROR", stdout=self.stdout, stderr=issues)
        check_database()
        check_redis()
        allow_connections(settings.MAX_CONNECTIONS)
        with ExitStack() as stack:
            if settings.WORKERS > 1 and not settings.PROMETHEUS_MULTIPROC_DIR:
                try:
                    stack.enter_context(shared_metrics(settings.DATA_DIR))
                except OSError as error:
                    logger.warning("/metrics will tell of one worker at a time: %s", error)
            self.serve(admin_port)

    def serve(self, admin_port: int) -> None:
        for port in {settings.PORT, admin_port if settings.ADMIN else 0} - {0}:
            check_free(settings.HOST, port)
        Thread(target=self.announce, args=(admin_port,), daemon=True).start()
        if admin_port and settings.ADMIN:
            serve_on([configuration(settings.PORT), configuration(admin_port)])
        else:
            serve_on([configuration(settings.PORT)])

    def announce(self, admin_port: int) -> None:
        """Print the addresses once they answer."""
        wait_until_answered(settings.HOST, settings.PORT)
        self.stdout.write(f"Serving on http://{settings.HOST}:{settings.PORT}/")
        if admin_port and settings.ADMIN:
            wait_until_answered(settings.HOST, admin_port)
            self.stdout.write(f"Serving the admin on http://{settings.HOST}:{admin_port}/admin/")
        self.stdout.flush()


def wait_until_answered(host: str, port: int) -> None:
    """Return once the port answers an HTTP request. It may be bound before there is a worker."""
    while True:
        try:
            with closing(HTTPConnection(host, port, timeout=60)) as connection:
                connection.request("GET", "/livez")
                connection.getresponse()
                return
        except (OSError, HTTPException):
            time.sleep(0.1)


def check_database() -> None:
    """Raise CommandError if the service would run with this database and answer wrongly.

    Without a database it starts, and answers 503 until there is one.
    """
    try:
        fault = fault_of_database()
        warnings = archive_can_be_read(None)
    except DatabaseError:
        return
    finally:
        connections.close_all()
    if fault is not None:
        raise CommandError(fault)
    for warning in warnings:
        logger.warning("%s Install them: %s", warning.msg, warning.hint)


def fault_of_database() -> str | None:
    if not keeps_no_session_state() and are_sessions_shared():
        return (
            "DATABASE_URL leads to a connection pooler that shares out sessions by transaction, such as PgBouncer "
            "with pool_mode=transaction. Set DATABASE_POOLING=transaction, or pool_mode=session for this database, or "
            "connect to PostgreSQL directly (docs/guides/deployment.md, Connection poolers)."
        )
    lacking = pending_migrations()
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        return f"The database lacks the migration {lacking[0]}{more}. Run `manage.py migrate` first."
    if copying.is_under_way():
        return (
            "A copy into this database has not ended. Run `manage.py copy_to` again from the source, until it says so."
        )
    if is_read_only():
        return None  # a standby, which serves once it is promoted
    if not pepper.check_or_adopt_pepper():
        return (
            "API_KEY_PEPPER (or SECRET_KEY, if that stands in for it) is not the one with which this database's keys "
            "were made, so every key would be refused. Set the former one, or name it in API_KEY_PEPPER_PREVIOUS. "
            "If it is lost, run `manage.py accept_pepper` (docs/guides/deployment.md, Changing the pepper)."
        )
    if has_stale_keys():  # a denied page would count as unknown
        return (
            "Items lack the keys of their URLs: SAME_PAGE or PAGE_PARAMETERS has changed, or the version before wrote "
            "items after `migrate`. Run `manage.py migrate_data` first."
        )
    return None


def check_redis() -> None:
    """Raise CommandError if limits would be counted wrongly. Without Redis the service starts."""
    limiter = Limiter()
    limiter.inspect()
    if limiter.fault is not None:
        raise CommandError(f"{limiter.fault.message} (docs/guides/deployment.md, Redis or Valkey)")


def check_free(host: str, port: int) -> None:
    """Raise CommandError if the port cannot be bound, before announcing that it is served."""
    if problem := why_unusable(host, port):
        raise CommandError(problem)


def configuration(port: int) -> uvicorn.Config:
    return uvicorn.Config(
        app="config.asgi:application",
        host=settings.HOST,
        port=port,
        workers=settings.WORKERS,
        loop="uvloop",
        ws="none",
        http="config.server.protocol:BoundedProtocol",
        lifespan="on",
        backlog=2048,
        access_log=False,
        log_config=None,  # uvicorn logs through Django's logging
        server_header=False,
        proxy_headers=False,  # kit.http.headers decides which proxies to trust
        timeout_graceful_shutdown=30,
        timeout_worker_healthcheck=30,  # a worker without CPU time is not a hanging one
    )


def serve_on(ports: list[uvicorn.Config]) -> None:
    """Run the same processes on one port or two."""
    sockets = [port.bind_socket() for port in ports]
    if ports[0].workers > 1:
        workers = Workers(ports[0], sockets)
        workers.run()
        if workers.failed_to_start:
            sys.exit(STARTUP_FAILURE)
        return
    server = StoppingServer(ports[0])
    with suppress(KeyboardInterrupt):
        server.run(sockets)
    if not server.started:
        sys.exit(STARTUP_FAILURE)
