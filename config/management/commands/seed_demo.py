import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from accounts.models import Account
from accounts.plans.rendering import render_account
from config.first_operator import admin_address, describe_first_operator, first_operator
from kit.commands import ServiceCommand
from licensing.demo.account import DAYS, curl_line, make_partitions, seed_demo

MAX_DAYS = 1_100
LINES_IN_LOG = 10  # progress lines without a terminal


class Command(ServiceCommand):
    help = "Makes a demo account with keys, policies, content, licences and a year of decisions and revenue."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--if-empty", action="store_true", help="Do nothing if there is any account.")
        parser.add_argument("--beside", action="store_true", help="Make one although there are accounts.")
        parser.add_argument("--days", type=int, default=DAYS, help="How long ago its past begins.")
        parser.add_argument("--items", action="append", default=[], metavar="FILE", help="Items beside its own.")
        parser.add_argument("--seed", type=int, default=1, help="Another number gives other decisions.")

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        if options["if_empty"] and Account.objects.exists():
            return "There are accounts already; nothing was made.", {"object": "demo", "seeded": False}
        if Account.objects.exists() and not options["beside"]:
            raise CommandError(
                "There are accounts already. To make a demo account among them, add --beside; "
                "`manage.py remove_demo ID` removes it again."
            )
        if not 1 <= options["days"] <= MAX_DAYS:
            raise CommandError(f"--days takes a whole number from 1 to {MAX_DAYS}.")
        now = timezone.now()
        days = options["days"]
        make_partitions(now, days)
        with transaction.atomic():
            demo = seed_demo(now, options["seed"], days, options["items"], self.show)
            operator = first_operator()
        curl = curl_line(demo.secret_key, admin_address())
        sentence = (
            f"Made the demo account {demo.account.pk}. Its keys, shown this once:\n"
            f"  secret  {demo.secret_key}\n"
            f"  public  {demo.public_key}\n"
            f"{describe_first_operator(operator)}"
            f"Try, while the service runs:\n  {curl}"
        )
        return sentence, {
            "object": "demo",
            "seeded": True,
            "account": render_account(demo.account),
            "key": demo.secret_key,
            "publicKey": demo.public_key,
            "curl": curl,
            "operator": operator,
        }

    def show(self, done: int, days: int) -> None:
        if self.stderr.isatty():
            bar = "█" * (30 * done // days)
            print(f"\r{bar:<30} {done} of {days} days", end="\n" if done == days else "", file=sys.stderr, flush=True)
        elif done * LINES_IN_LOG // days > (done - 1) * LINES_IN_LOG // days:
            print(f"  {done} of {days} days", file=sys.stderr, flush=True)
