"""Run import_content and collect what it reports."""

import json
from collections.abc import Callable
from typing import Any

from accounts.models import Account
from licensing.content.models import Content


class Run:
    """One run of the command: its result and what it reported."""

    def __init__(self, result: dict[str, Any], errors: str) -> None:
        self.result = result
        self.errors = errors.splitlines()

    def __getitem__(self, name: str) -> float:
        return self.result[name]


Import = Callable[..., Run]


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def items(account: Account) -> dict[str | None, Content]:
    return {item.external_id: item for item in Content.objects.of(account.pk)}
