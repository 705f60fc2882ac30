"""The page for refused people: HTML for browsers, where everybody else gets JSON.

The page is self-contained, and short enough for the header in which nginx gets it. Publishers' texts are escaped.
"""

import re
from base64 import b64encode
from hashlib import sha256
from html import escape

from kit.http.error_replies import quality
from kit.http.rendering import JSON
from kit.rest.fields import is_http_url
from licensing.sites.refusal_texts import RefusalTexts

LABEL = "Get access"
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:1.125rem/1.6 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1.5rem;"
    "overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;line-height:1.25}"
    "a{display:inline-block;padding:.6rem 1.2rem;border-radius:.5rem;background:CanvasText;color:Canvas;"
    "text-decoration:none}"
    "a:focus-visible{outline:3px solid Highlight;outline-offset:3px}"
)
POLICY = f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    '<meta name="viewport" content="width=device-width,initial-scale=1">'
    f"<title>%(name)s</title><style>{STYLE.replace('%', '%%')}</style></head>"
    '<body><main><h1 dir="auto">%(name)s</h1><p dir="auto">%(message)s</p>%(price)s%(link)s%(reference)s</main>'
    "</body></html>"
)


def wants_page(accept: str) -> bool:
    """Return whether a request accepts HTML by name, and JSON no better. Browsers do when they open a page."""
    html = quality(accept, "text/html")
    return html > 0 and html >= quality(accept, JSON)


def render_page(texts: RefusalTexts, host: str, message: str, price: str | None, decision_id: str) -> bytes:
    """Render the page. Without a name, the heading is the host. `decision_id` is empty if nothing was decided."""
    context = {
        "name": one_line(texts.name or host),
        "message": one_line(message),
        "price": "" if price is None else f"<p>Price of one access: {one_line(price)}</p>",
        "link": link_to(texts),
        "reference": f"<p>Reference: {decision_id}</p>" if decision_id else "",
    }
    return (PAGE % context).encode("utf-8", "replace")


def link_to(texts: RefusalTexts) -> str:
    if texts.link_url is None or not is_http_url(texts.link_url):
        return ""
    return f'<p dir="auto"><a href="{escape(texts.link_url)}">{one_line(texts.link_label or LABEL)}</a></p>'


def one_line(text: str) -> str:
    """Escape a text for HTML, on one line, because headers have no line breaks."""
    return escape(CONTROLS.sub(" ", text), quote=False)
