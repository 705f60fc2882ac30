"""The tables in docs/ that are derived from the code. `python -m tests.documents` writes them anew."""

import os
import re
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path

import django

ROOT = Path(__file__).parent.parent
MARKS = "<!-- table: {0} -->\n{1}\n<!-- end: {0} -->"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def quoted(names: Iterable[object]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def errors() -> str:
    from kit.rest.error_examples import DESCRIPTIONS, documented_errors

    by_status = documented_errors().items()
    return table(
        ["status", "`code`", "meaning"],
        ([status, quoted(codes), DESCRIPTIONS[int(status)]] for status, codes in by_status),
    )


def catalogue() -> str:
    from kit.rest.error_examples import ADVICE, documented_errors

    return table(
        ["`code`", "status", "`type`", "for example", "what to do"],
        (
            [f"`{code}`", status, f"`{error.type}`", escape(error.example["message"], quote=False), ADVICE[code]]
            for status, of_status in documented_errors().items()
            for code, error in of_status.items()
            if error.example
        ),
    )


def conditions() -> str:
    from licensing.policies.conditions import IN_WORDS

    return table(["condition", "holds if"], ([f"`{one.name}`", one.holds_if] for one in IN_WORDS))


def reasons() -> str:
    from licensing.policies.decision import Reason

    return table(["`reason`", "access was denied because"], ([f"`{one}`", one.words] for one in Reason))


def metadata() -> str:
    from licensing.content.metadata import ATTRIBUTES, Kind

    def shape(kind: Kind, maximum: int) -> str:
        return {
            Kind.TEXT: f"text of at most {maximum} characters",
            Kind.DAY: "a day, as `2026-01-31`",
            Kind.TEXTS: f"texts of at most {maximum} characters each",
            Kind.INTEGER: f"an integer from 0 to {maximum:,}",
        }[kind]

    return table(["attribute", "value"], ([f"`{one.name}`", shape(one.kind, one.maximum)] for one in ATTRIBUTES))


def filters() -> str:
    from accounts.auditing.filters import AuditFilters
    from analytics.ledger.filters import LedgerFilters
    from analytics.statements.filters import StatementFilters
    from kit.rest.filters import OperatorFilterSet
    from licensing.access.filters import DecisionFilters
    from licensing.content.filters import ContentFilters
    from licensing.licenses.filters import LicenseFilters
    from licensing.policies.filters import PolicyFilters

    lists = {
        "content": ContentFilters,
        "policies": PolicyFilters,
        "licences": LicenseFilters,
        "ledger": LedgerFilters,
        "statements": StatementFilters,
        "decisions": DecisionFilters,
        "audit log": AuditFilters,
    }

    def fields(one: type[OperatorFilterSet]) -> str:
        return ", ".join(
            f"`{name}`{'?' if 'exists' in operand.operators else ''}" for name, operand in one.operands.items()
        )

    return table(["list", "fields"], ([name, fields(one)] for name, one in lists.items()))


def headers() -> str:
    from kit.http.headers import LIMITS

    rows = sorted((name.decode().title(), limit) for name, limit in LIMITS.items())
    return table(["header", "bytes", "read for"], ([f"`{name}`", f"{most:,}", told] for name, (most, told) in rows))


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "docs/reference/api.md": {"errors": errors, "filters": filters, "metadata": metadata},
    "docs/guides/deployment.md": {"headers": headers},
    "docs/reference/errors.md": {"catalogue": catalogue},
    "docs/reference/policies.md": {"conditions": conditions, "reasons": reasons},
}


def with_tables(path: str, text: str) -> str:
    for name, make in TABLES[path].items():
        marked = MARKS.format(name, make())
        text, count = re.subn(MARKS.format(name, ".*?"), lambda match, new=marked: new, text, flags=re.S)
        if count != 1:
            raise ValueError(f"{path} has {count} tables {name}.")
    return text


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for path in TABLES:
        (ROOT / path).write_text(with_tables(path, (ROOT / path).read_text()))
