"""manage.py seed_demo, with fewer days than its year."""

import io
import json
from typing import Any

from django.core.management import call_command

DAYS = 20


def seed(*options: str) -> dict[str, Any]:
    """Run the command and return what it prints."""
    out = io.StringIO()
    call_command("seed_demo", "--json", "--days", str(DAYS), *options, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])
