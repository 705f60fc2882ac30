"""Renders the project's own Markdown as HTML: the guides and the README's story."""

import re
from functools import cache
from pathlib import Path

from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

ROOT = Path(settings.BASE_DIR)
DOCS = ROOT / "docs"
NAMES = {  # guides with their files, in reading order
    "quickstart": "start/quickstart",
    "pages": "guides/lists",
    "errors": "reference/errors",
    "retries": "guides/retries",
    "clients": "guides/clients",
    "versioning": "reference/versions",
}
STORY = "## The story in thirteen lines\n"
README_BASE = "http://127.0.0.1:8000"  # the service's URL in the README


@cache
def guide(name: str) -> tuple[str, SafeString]:
    """Return a guide's title and HTML."""
    text = (DOCS / f"{NAMES[name]}.md").read_text()
    html = rendered(text)
    for linked, path in NAMES.items():
        stem = path.partition("/")[2]
        html = re.sub(rf'href="(?:\.\./[a-z]+/)?{stem}\.md(#[a-z-]+)?"', rf'href="/docs/guides/{linked}/\1"', html)
    return text.partition("\n")[0].removeprefix("# "), mark_safe(html)  # noqa: S308 - as rendered()


def titles() -> list[tuple[str, str]]:
    """Return the guides' names and titles."""
    return [(name, guide(name)[0]) for name in NAMES]


def story(base: str) -> SafeString:
    """Return the README's story as HTML, for a service at the URL `base`."""
    return mark_safe(readme_story().replace(README_BASE, escape(base)))  # noqa: S308 - as rendered()


@cache
def readme_story() -> str:
    _, _, rest = (ROOT / "README.md").read_text().partition(STORY)
    return rendered(rest.partition("\n## ")[0])


def rendered(text: str) -> str:
    """Render trusted Markdown of the project itself. Scrolling parts can be reached by keyboard."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    return re.sub(r"<(pre|table)>", r'<\1 tabindex="0">', html)
