"""The classes of crawlers. Everything else that depends on a class is derived from this table.

A crawler of a class asks for the permission of the same name; `other` asks for `read`. The order is that of the API
and of the admin's charts; published terms state uses in the opposite one.
"""

from typing import Literal

from msgspec import Struct

Colour = Literal["green", "cyan", "blue", "orange", "purple", "yellow", "pink", "grey"]
OTHER = "other"  # also the class of visitors that are not known crawlers


class CrawlerClass(Struct, frozen=True, kw_only=True):
    """A class of crawlers.

    - `purpose`: what such a crawler does, for the documentation.
    - `label` and `colour`: its name and its colour in the admin; `operators/static/operators/overview.css` has the
      colours.
    - `audience`: its crawlers, as the subject of a sentence in a site's summary; empty leaves them out.
    - `decided_as`: the permission by which a policy that does not name this one decides it; None if it stands alone.
    - `in_every_check`: whether `decided_as` also applies to checks by API, not only to visitors of a site.
    - `admitted_by_name`: whether a rule that names the class admits a visitor of which only the User-Agent says who it
      is. Only for fetches that show a page to somebody or check it: being deceived by such a claim costs little.
    - `kept_out`: whether robots.txt disallows the pages that no rule lets such crawlers have.
    - `mines`: whether the use is text and data mining.
    - `rsl`, `content_signal`, `content_usage`: what published terms call the use; None if they have no word for it.
    """

    purpose: str
    label: str
    colour: Colour
    audience: str = ""
    decided_as: str | None = None
    in_every_check: bool = False
    admitted_by_name: bool = False
    kept_out: bool = False
    mines: bool = False
    rsl: str | None = None
    content_signal: str | None = None
    content_usage: str | None = None


CLASSES = {
    "ai_training": CrawlerClass(
        purpose="collects pages to train models, such as GPTBot",
        label="AI training",
        colour="orange",
        audience="Crawlers for AI training",
        kept_out=True,
        mines=True,
        rsl="ai-train",
        content_signal="ai-train",
        content_usage="train-ai",
    ),
    "ai_input": CrawlerClass(
        purpose="fetches a page for a user or an answer, such as ChatGPT-User",
        label="AI input",
        colour="blue",
        audience="Crawlers for AI answers",
        kept_out=True,
        mines=True,
        rsl="ai-input",
        content_signal="ai-input",
        content_usage="ai-use",
    ),
    "ai_index": CrawlerClass(
        purpose="builds an index from which an AI service sends readers, such as OAI-SearchBot",
        label="AI index",
        colour="cyan",
        audience="Indexes of AI services",
        decided_as="ai_input",
        in_every_check=True,
        kept_out=True,
        rsl="ai-index",
    ),
    "search": CrawlerClass(
        purpose="builds the index of a search engine",
        label="Search",
        colour="green",
        audience="Search engines",
        kept_out=True,
        rsl="search",
        content_signal="search",
        content_usage="search",
    ),
    "archive": CrawlerClass(
        purpose="keeps pages", label="Archive", colour="purple", audience="Archives", kept_out=True
    ),
    "preview": CrawlerClass(
        purpose="shows a link in a chat or tool, such as Slackbot, WhatsApp or Google's inspection tool",
        label="Link previews",
        colour="yellow",
        decided_as="read",
        admitted_by_name=True,
    ),
    "ads": CrawlerClass(
        purpose="checks pages for advertisements, such as AdsBot-Google",
        label="Advertising",
        colour="pink",
        decided_as="read",
        admitted_by_name=True,
    ),
    OTHER: CrawlerClass(purpose="anything else; it asks for `read`", label="Others", colour="grey"),
}

# The permission by which a policy decides one that it does not name: at sites, and in checks by API.
DECIDED_AS_AT_SITES = {name: row.decided_as for name, row in CLASSES.items() if row.decided_as is not None}
DECIDED_AS_BY_API = {name: decided for name, decided in DECIDED_AS_AT_SITES.items() if CLASSES[name].in_every_check}
ADMITTED_BY_NAME = frozenset(name for name, row in CLASSES.items() if row.admitted_by_name)
KEPT_OUT = frozenset(name for name, row in CLASSES.items() if row.kept_out)
MINING = frozenset(name for name, row in CLASSES.items() if row.mines)
NAMES_IN_RSL = {name: row.rsl for name, row in CLASSES.items() if row.rsl is not None}
NAMES_IN_SIGNAL = {name: row.content_signal for name, row in CLASSES.items() if row.content_signal is not None}
NAMES_IN_USAGE = {name: row.content_usage for name, row in CLASSES.items() if row.content_usage is not None}
USES = tuple(reversed(NAMES_IN_RSL))  # the uses that published terms name, in their order
# The subjects of a site's summary: the published uses first, then the other classes.
AUDIENCES = {"read": "Readers"} | {one: CLASSES[one].audience for one in (*USES, *CLASSES) if CLASSES[one].audience}
