"""Refusal pages, as browsers read them."""

from html.parser import HTMLParser

DENY = {"action": "deny", "conditions": {"default": True}}
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;</title></style>{{7*7}}%s%(x)s${x}"
HOSTILE = {
    "name": (ATTACK + "報道🗞&" * 30)[:100],
    "refusalMessage": (ATTACK + "&<🗞>" * 200)[:500],
    "linkUrl": ('https://pub.example/"><script>' + "&'\"" * 200)[:500],
    "linkLabel": (ATTACK[:30] + "🗞&" * 30)[:60],
}


class Parsed(HTMLParser):
    """The page parsed as a browser does."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.resources: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.hrefs: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.links = list(zip(self.hrefs, self.texts.get("a", []), strict=True))

    def text(self, tag: str) -> str:
        return self.texts[tag][0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.resources += [value or "" for name, value in attrs if name in ("src", "srcset", "action", "data")]
        self.hrefs += [value or "" for name, value in attrs if name == "href"]
        if tag != "meta":
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data
