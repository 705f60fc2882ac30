"""The guides for whoever calls the API: docs/guides/*.md as pages under /docs/guides/."""

import re
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import mark_safe
from markdown_it import MarkdownIt

from config.pages import page

FOLDER = Path(settings.BASE_DIR) / "docs" / "guides"
NAMES = ("quickstart", "pages", "errors", "retries", "clients", "versioning")  # in the order of reading


@cache
def guide(name: str) -> tuple[str, str]:
    """The title and the HTML of a guide. Their Markdown is the project's own: it may be trusted."""
    text = (FOLDER / f"{name}.md").read_text()
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    html = re.sub(r'href="([a-z]+)\.md(#[a-z-]+)?"', r'href="/docs/guides/\1/\2"', html)
    return text.partition("\n")[0].removeprefix("# "), html


def index(request: HttpRequest) -> HttpResponse:
    return page(request, "guides.html", guides=[(name, guide(name)[0]) for name in NAMES])


def show(request: HttpRequest, name: str) -> HttpResponse:
    if name not in NAMES:
        raise Http404
    title, html = guide(name)
    return page(request, "guide.html", title=title, html=mark_safe(html))  # noqa: S308 - see guide()
