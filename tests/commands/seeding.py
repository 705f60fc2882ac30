"""manage.py seed_demo, with fewer days than its year."""

from typing import Any

from tests.commands.calling import printed_json

DAYS = 20


def seed(*options: str) -> Any:
    """Run the command and return what it prints."""
    return printed_json("seed_demo", "--days", DAYS, *options)
