"""The words of a page, and markup that it shows as text: its own tags, escapes, and unrendered template tags."""

import re
from html import unescape
from html.parser import HTMLParser

UNSHOWN = {"script", "style", "pre", "code", "textarea"}  # scripts, and files that pages quote
TAG = r"</?(?:a|b|br|code|div|em|i|li|p|pre|small|span|strong|svg|time|ul)\b"
ESCAPE = r"&(?:lt|gt|amp|quot|#x27|#39);"
TEMPLATE = r"{[{%#]"
MARKUP = re.compile(f"{TAG}|{ESCAPE}|{TEMPLATE}")


class Shown(HTMLParser):
    """The texts and attributes of a page, without those of `UNSHOWN`."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.unshown: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in UNSHOWN:
            self.unshown.append(tag)
        self.texts += [value for _, value in attrs if value is not None]

    def handle_endtag(self, tag: str) -> None:
        if tag in self.unshown:
            self.unshown.remove(tag)

    def handle_data(self, data: str) -> None:
        if not self.unshown:
            self.texts.append(data)


def markup_in(html: str) -> list[str]:
    """Return the texts and attributes of a page in which people see markup."""
    shown = Shown()
    shown.feed(html)
    return [text.strip()[:200] for text in shown.texts if MARKUP.search(text)]


CODE = re.compile(r"<(script|style|pre|code|svg)\b.*?</\1>", re.DOTALL)
SPOKEN = re.compile(r'\b(?:aria-label|title|placeholder|alt)="([^"]*)"')
ANY_TAG = re.compile(r"<[^>]*>")


def words_of(html: str) -> str:
    """Return what a page shows and what screen readers say; not its codes and addresses."""
    shown = CODE.sub(" ", html)
    return unescape(" ".join([ANY_TAG.sub(" ", shown), *SPOKEN.findall(shown)]))
