"""Commands of manage.py, called in this process."""

import json
from io import StringIO
from typing import Any, NamedTuple

from django.core.management import call_command


class Ended(NamedTuple):
    status: int
    out: str
    errors: str


def ended(*arguments: object) -> Ended:
    out, errors, status = StringIO(), StringIO(), 0
    try:
        call_command(*map(str, arguments), stdout=out, stderr=errors)
    except SystemExit as end:
        status = end.code
    return Ended(status, out.getvalue(), errors.getvalue())


def printed(*arguments: object) -> str:
    """Call a command that succeeds, and return its output."""
    end = ended(*arguments)
    assert end.status == 0, end
    return end.out


def printed_json(*arguments: object) -> Any:
    return json.loads(printed(*arguments, "--json").splitlines()[-1])
