"""Run management commands in one process: each input line is a JSON request, each output line its reply.

`manage.py` takes over a second to start, so tests with many commands use this.
"""

import json
import os
import sys
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connections

django.setup()

from django.contrib.auth.models import User  # noqa: E402 - needs the apps, as does the next
from django.test import Client  # noqa: E402

from tests import factories  # noqa: E402


def manage(*command: str) -> str:
    """Return the command's output."""
    output = StringIO()
    call_command(*command, stdout=output)
    return output.getvalue()


def accounts(count: int, **fields: Any) -> list[tuple[str, str, str]]:
    """Create accounts; return the id and two keys with all permissions for each; `fields` as in tests.factories."""
    made = [factories.account(**fields) for _ in range(count)]
    return [(account.pk, factories.key_text(account), factories.key_text(account)) for account in made]


def session(username: str) -> dict[str, str]:
    """Return the cookie of a new session of the operator."""
    client = Client()
    client.force_login(User.objects.get(username=username))
    return {"name": settings.SESSION_COOKIE_NAME, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        action = {"manage": manage, "accounts": accounts, "session": session}[request["action"]]
        return {"result": action(*request["arguments"], **request["fields"])}
    except Exception as error:  # the calling test reports it
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        connections.close_all()  # as a command's end does


if __name__ == "__main__":
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    with redirect_stdout(sys.stderr):  # other output must not mix with replies
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), file=replies, flush=True)
