import sys
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from accounts.models import Account
from accounts.plans.serializers import AccountSerializer
from kit.commands import ServiceCommand
from licensing.demo.account import DAYS, curl_line, seed_demo

if settings.ADMIN:
    from operators.staff.services import create_operator

MOST_DAYS = 1_100


class Command(ServiceCommand):
    help = "Makes a demo account with keys, policies, content, licences and a year of decisions and revenue."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--if-empty", action="store_true", help="Do nothing if there is any account.")
        parser.add_argument("--beside", action="store_true", help="Make one although there are accounts.")
        parser.add_argument("--days", type=int, default=DAYS, help="How long ago its past begins.")
        parser.add_argument("--items", action="append", default=[], metavar="FILE", help="Items beside its own.")
        parser.add_argument("--seed", type=int, default=1, help="Another number gives other decisions.")

    @transaction.atomic
    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        if options["if_empty"] and Account.objects.exists():
            return "There are accounts already; nothing was made.", {"object": "demo", "seeded": False}
        if Account.objects.exists() and not options["beside"]:
            raise CommandError(
                "There are accounts already. To make a demo account among them, add --beside; "
                "`manage.py remove_demo ID` removes it again."
            )
        if not 1 <= options["days"] <= MOST_DAYS:
            raise CommandError(f"--days takes a whole number from 1 to {MOST_DAYS}.")
        demo = seed_demo(timezone.now(), options["seed"], options["days"], options["items"], self.show)
        curl = curl_line(demo.secret_key, address())
        operator = demo_operator()
        sentence = (
            f"Made the demo account {demo.account.pk}. Its keys, shown this once:\n"
            f"  secret  {demo.secret_key}\n"
            f"  public  {demo.public_key}\n"
            f"{sign_in(operator)}"
            f"Try, while the service runs:\n  {curl}"
        )
        return sentence, {
            "object": "demo",
            "seeded": True,
            "account": AccountSerializer(demo.account).data,
            "key": demo.secret_key,
            "publicKey": demo.public_key,
            "curl": curl,
            "operator": operator,
        }

    def show(self, done: int, days: int) -> None:
        if self.stderr.isatty():
            bar = "█" * (30 * done // days)
            print(f"\r{bar:<30} {done} of {days} days", end="\n" if done == days else "", file=sys.stderr, flush=True)


def demo_operator() -> dict[str, str] | None:
    """Somebody to sign in to the admin as, where nobody could yet."""
    if not settings.ADMIN or User.objects.filter(is_staff=True).exists():
        return None
    operator, password = create_operator("operator", superuser=True)
    return {"username": operator.username, "password": password, "address": f"{address(settings.ADMIN_PORT)}/admin/"}


def sign_in(operator: dict[str, str] | None) -> str:
    if operator is None:
        return ""
    return "Sign in at {address} as {username} with the password {password}, shown this once.\n".format(**operator)


def address(port: int = 0) -> str:
    """Where a client on this machine reaches the service: a wildcard is no address to call."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.HOST, settings.HOST)  # noqa: S104 - read, not bound
    return f"http://[{host}]:{port or settings.PORT}" if ":" in host else f"http://{host}:{port or settings.PORT}"
