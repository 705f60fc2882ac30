"""The tables in docs/ that are derived from the code. `python -m tests.documents` regenerates them."""

import argparse
import os
import re
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path

import django
from django.core.management.base import BaseCommand

ROOT = Path(__file__).parent.parent
MARKS = "<!-- table: {0} -->\n{1}\n<!-- end: {0} -->"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def anchored(code: str, seen: set[str]) -> str:
    """Return an error code, with the anchor for `errors.md#code` links where it first occurs."""
    anchor = "" if code in seen else f'<a id="{code}"></a>'
    seen.add(code)
    return f"{anchor}`{code}`"


def catalogue() -> str:
    from kit.openapi.error_examples import ADVICE, documented_errors

    seen: set[str] = set()

    return table(
        ["`code`", "status", "`type`", "for example", "what to do"],
        (
            [
                anchored(code, seen),
                status,
                f"`{error.type}`",
                escape(error.example["message"], quote=False),
                ADVICE[code],
            ]
            for status, of_status in documented_errors().items()
            for code, error in of_status.items()
            if error.example
        ),
    )


def conditions() -> str:
    from licensing.policies.conditions import CONDITIONS_IN_ORDER

    return table(["condition", "holds if"], ([f"`{one.name}`", one.holds_if] for one in CONDITIONS_IN_ORDER))


def reasons() -> str:
    from licensing.policies.decision import Reason

    return table(["`reason`", "access was denied because"], ([f"`{one}`", one.words] for one in Reason))


def metadata() -> str:
    from licensing.content.metadata import ATTRIBUTES, AttributeKind

    def shape(kind: AttributeKind, maximum: int) -> str:
        return {
            AttributeKind.TEXT: f"text of at most {maximum} characters",
            AttributeKind.DAY: "a day, as `2026-01-31`",
            AttributeKind.TEXTS: f"texts of at most {maximum} characters each",
            AttributeKind.INTEGER: f"an integer from 0 to {maximum:,}",
        }[kind]

    return table(["attribute", "value"], ([f"`{one.name}`", shape(one.kind, one.maximum)] for one in ATTRIBUTES))


def filters() -> str:
    from tests.conventions.endpoints import ENDPOINTS

    rows = []
    for endpoint in ENDPOINTS:
        if endpoint.filters is not None:
            operands = endpoint.filters.operands.items()
            names = (f"`{name}`{'?' if 'exists' in operand.operators else ''}" for name, operand in operands)
            path = re.sub(r"{\w+}", "{id}", endpoint.path)
            rows.append([f"`{path}`", ", ".join(names)])
    return table(["list", "fields"], rows)


def headers() -> str:
    from kit.http.headers import LIMITS

    rows = sorted((name.decode().title(), limit) for name, limit in LIMITS.items())
    return table(["header", "bytes", "read for"], ([f"`{name}`", f"{most:,}", told] for name, (most, told) in rows))


def permissions() -> str:
    from accounts.keys.permissions import PERMISSIONS
    from tests.conventions.endpoints import WITH_PERMISSION

    def endpoints(permission: str) -> str:
        found = [re.sub(r"{\w+}", "{id}", str(one)) for one in WITH_PERMISSION if permission in one.permissions]
        return "<br>".join(f"`{one}`" for one in found)

    named = [(name, words) for name, words in PERMISSIONS.items() if name != "*"]
    return table(["permission", "allows", "endpoints"], ([f"`{one}`", words, endpoints(one)] for one, words in named))


def commands() -> str:
    from django.core.management import get_commands, load_command_class

    own = {"accounts", "analytics", "config", "licensing", "operators"}
    made = {name: load_command_class(app, name) for name, app in sorted(get_commands().items()) if app in own}
    return table(
        ["command", "arguments", "what it does"],
        (
            [f"`{name}`", arguments(one, name), escape(" ".join(one.help.split()), quote=False)]
            for name, one in made.items()
        ),
    )


def arguments(command: BaseCommand, name: str) -> str:
    """Return the command's own arguments, without those that every command has."""
    of_all = {one.dest for one in BaseCommand().create_parser("manage.py", "")._actions}
    shown = []
    for one in command.create_parser("manage.py", name)._actions:
        if one.dest in {*of_all, "json"} or one.help == argparse.SUPPRESS:
            continue
        metavar = one.metavar or ("{" + ",".join(map(str, one.choices)) + "}" if one.choices else one.dest.upper())
        text = str((one.option_strings or [metavar])[0])
        if one.option_strings and one.nargs != 0:
            text += f" {metavar}"
        shown.append(f"`{text}`" if one.required else f"[`{text}`]")
    return " ".join(shown)


def crawlers() -> str:
    from licensing.edge.crawlers import SHIPPED, Crawler, parse_table

    def row(one: Crawler) -> list[str]:
        sources = "<br>".join(f"[{', '.join(each.facts)}]({each.url}) {each.date}" for each in one.evidence)
        ways = [
            *(f"[addresses]({url})" for url in one.address_lists),
            *(f"`{host}`" for host in one.hosts),
            *([f"signs as `{one.signature_agent}`"] if one.signature_agent else []),
        ]
        agent = f"`{one.user_agent}`" if one.user_agent else f"none; robots.txt: `{one.robots_token}`"
        return [one.name, one.operator, f"`{one.crawler_class}`", one.kind, agent, "<br>".join(ways), sources]

    shipped = sorted(parse_table(SHIPPED.read_bytes()).crawlers, key=lambda one: one.key)
    return table(["crawler", "operator", "class", "kind", "User-Agent", "verified by", "sources"], map(row, shipped))


def crawler_classes() -> str:
    from licensing.crawler_classes import CLASSES

    rows = []
    for name, row in CLASSES.items():
        decided = f"is decided as `{row.decided_as}`" if row.decided_as else ""
        rows.append([f"`{name}`", row.purpose, decided])
    return table(["class and permission", "the crawler", "if the page's policy does not name it"], rows)


def referrers() -> str:
    from licensing.edge.crawlers import SHIPPED, parse_table

    rows = (
        [
            one.name,
            one.kind,
            one.operator,
            "<br>".join(f"`{host}`" for host in one.hosts),
            "<br>".join(f"[{', '.join(each.facts)}]({each.url}) {each.date}" for each in one.evidence),
        ]
        for one in parse_table(SHIPPED.read_bytes()).referrers
    )
    return table(["service", "kind", "operator", "hosts", "sources"], rows)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "docs/reference/api.md": {"filters": filters, "metadata": metadata},
    "docs/reference/crawlers.md": {"crawlers": crawlers, "referrers": referrers},
    "docs/reference/edge.md": {"classes": crawler_classes},
    "docs/reference/limits.md": {"headers": headers},
    "docs/reference/commands.md": {"commands": commands},
    "docs/reference/errors.md": {"catalogue": catalogue},
    "docs/reference/permissions.md": {"permissions": permissions},
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
