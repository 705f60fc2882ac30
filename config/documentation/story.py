"""Renders the README's story as HTML, for the front page."""

import re
from functools import cache
from pathlib import Path

from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

ROOT = Path(settings.BASE_DIR)
STORY = "## The story in thirteen lines\n"
README_BASE = "http://127.0.0.1:8000"  # the service's URL in the README


def story(base: str) -> SafeString:
    """Return the README's story as HTML, for a service at the URL `base`."""
    return mark_safe(readme_story().replace(README_BASE, escape(base)))  # noqa: S308 - as rendered()


@cache
def readme_story() -> str:
    _, _, rest = (ROOT / "README.md").read_text().partition(STORY)
    return render_markdown(rest.partition("\n## ")[0])


def render_markdown(text: str) -> str:
    """Render trusted Markdown of the project itself. Scrolling parts can be reached by keyboard."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    return re.sub(r"<(pre|table)>", r'<\1 tabindex="0">', html)
