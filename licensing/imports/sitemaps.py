"""Reads the pages of a sitemap (sitemaps.org), with the titles and dates of Google News if it has them."""

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit
from xml.parsers import expat

from kit.http.errors import InvalidRequest
from kit.values.json_values import JsonObject

CHUNK = 64 * 1024
MAX_TEXT = 10_000  # characters of a field
FIELDS = {"loc": "source", "news:title": "title", "news:publication_date": "metadata.publishedAt"}
INDEX = "This is an index of sitemaps. Import the sitemaps that it names."


class Sitemap:
    """Collects the pages while expat parses. Entities cannot be declared, so that text cannot grow."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.is_empty = True
        self.field: str | None = None
        self.page: dict[str, str] = {}
        self.line = 0
        self.pages: list[tuple[int, JsonObject]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self.is_empty:
            self.is_empty = False
            self.check_root(name)
        if name == "url":
            self.page = {}
            self.line = self.parser.CurrentLineNumber
        self.field = FIELDS.get(name)

    def end(self, name: str) -> None:
        self.field = None
        if name == "url":
            self.pages.append((self.line, build_row(self.page)))

    def text(self, data: str) -> None:
        if self.field is not None:
            self.page[self.field] = (self.page.get(self.field, "") + data)[:MAX_TEXT]

    def check_root(self, name: str) -> None:
        if name.rpartition(":")[2] == "sitemapindex":
            raise InvalidRequest(INDEX)
        if name != "urlset":
            raise InvalidRequest(f"This is no sitemap: it begins with <{name[:60]}> instead of <urlset>.")

    def refuse_doctype(self, *_: object) -> None:
        raise InvalidRequest("This is no sitemap: it has a DOCTYPE.")

    def feed(self, raw: bytes) -> Iterator[tuple[int, JsonObject]]:
        """Parse a part of the file, empty at its end, and yield the pages that it ends. Raises InvalidRequest."""
        try:
            self.parser.Parse(raw, not raw)
        except expat.ExpatError as error:
            message = expat.errors.messages[error.code]
            raise InvalidRequest(f"Line {error.lineno:,} is not XML: {message}.") from None
        pages = self.pages
        self.pages = []
        yield from pages


def build_row(page: dict[str, str]) -> JsonObject:
    """Return a page as a row. Without a title, its address gives one."""
    url = page.get("source", "").strip()
    title = page.get("title", "").strip() or title_from(url)
    row: JsonObject = {"externalId": url, "source": url, "title": title}
    if published := page.get("metadata.publishedAt", "").strip():
        row["metadata.publishedAt"] = published[:10]
    return row


def title_from(url: str) -> str:
    """Return the last part of a path as words, such as `Winter at sea` for /2026/winter-at-sea.html."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    name = unquote(parts.path.rstrip("/").rpartition("/")[2])
    stem, dot, suffix = name.rpartition(".")
    if dot and suffix.isalpha():
        name = stem
    title = name.replace("-", " ").replace("_", " ").strip() or parts.netloc
    return title[:1].upper() + title[1:]
