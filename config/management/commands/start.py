from argparse import ArgumentParser

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from accounts.models import Account
from config.first_operator import describe_first_operator, first_operator
from config.management.commands.serve import check_free
from config.migrating.pending import pending_migrations, required_migrations
from config.migrating.turns import turn_to_change

ACCOUNT = ".venv/bin/python manage.py create_account NAME"
KEY = ".venv/bin/python manage.py create_api_key --account ID --name NAME --type secret"


class Command(BaseCommand):
    help = "Migrates, makes a demo account in an empty database, and serves. run.py runs it."
    requires_system_checks = []  # `serve` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--empty", action="store_true", help="Make an operator of the admin, and no demo account.")

    def handle(self, *args: object, empty: bool, **options: object) -> None:
        check_free(settings.HOST, settings.PORT)
        if pending := pending_migrations():
            is_new = len(pending) == len(required_migrations())
            self.say("Creating the tables …" if is_new else f"Changing tables: {len(pending)} migrations …")
            call_command("migrate", verbosity=0, stdout=self.stdout, stderr=self.stderr)
        with turn_to_change(report=self.say):
            self.fill(is_demo=not empty)
        self.say("Starting. The address is shown once it answers. Ctrl-C stops the service.\n")
        call_command("serve", stdout=self.stdout, stderr=self.stderr)

    def fill(self, *, is_demo: bool) -> None:
        """Create the demo if there are no accounts. With the demo off, create the first operator if needed."""
        if not is_demo:
            if operator := first_operator():
                self.say(describe_first_operator(operator))
        elif not Account.objects.exists():
            self.say("Making a demo account with a year of sample data …")
            call_command("seed_demo", stdout=self.stdout, stderr=self.stderr)
            self.say("")
        if Account.objects.exists():
            self.say(f"To make another key: {KEY}")
        else:
            self.say(f"Make an account, and a key with the ID that it prints:\n  {ACCOUNT}\n  {KEY}")

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
