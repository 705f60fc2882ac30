"""Write the catalogue of event types into docs/reference/events.md, from the table of types."""

import json
import os
from pathlib import Path

import django

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
BEGIN, END = "<!-- Generated: python -m tests.webhooks.catalogue -->\n", "<!-- End of the catalogue -->\n"


def catalogue() -> str:
    from accounts.events.event_types import TYPES
    from accounts.openapi import build_example

    rows = "".join(f"| [`{one.name}`](#{one.name.replace('.', '')}) | {one.description} |\n" for one in TYPES)
    examples = "".join(
        f"\n## {one.name}\n\n{one.description}\n\n```json\n{json.dumps(build_example(one), indent=2)}\n```\n"
        for one in TYPES
    )
    return f"\n| type | |\n|---|---|\n{rows}{examples}\n"


def page_with_catalogue() -> str:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return before + BEGIN + catalogue() + END + rest.partition(END)[2]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    PAGE.write_text(page_with_catalogue())
