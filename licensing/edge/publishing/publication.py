"""The content of a site's documents: its terms, and the names and addresses in them."""

from msgspec import Struct

from licensing.crawler_classes import USES
from licensing.edge.publishing.promises import Promise
from licensing.edge.publishing.published_terms import Terms, url_pattern


class Agents(Struct, frozen=True):
    """Crawlers of one class, by their tokens in robots.txt. They cannot pay if only robots.txt names them."""

    use: str
    tokens: tuple[str, ...]
    can_pay: bool

    def may_have(self, terms: Terms) -> bool:
        """Return whether the terms let them have pages, perhaps with a licence or for a payment."""
        return self.use in (terms.reachable if self.can_pay else terms.open_to_some)


class Publication(Struct, frozen=True):
    """The terms of a site, as published.

    `netloc` is its host with the requested port, `publisher` the account's name, and `server` the licence server's URL
    (None if it cannot be reached under a served host name). `agents` are the known crawlers that robots.txt names.
    """

    netloc: str
    terms: list[Terms]
    publisher: str
    server: str | None = None
    agents: tuple[Agents, ...] = ()

    @property
    def covers_every_page(self) -> bool:
        return any(url_pattern(entry.url).matches_every_path for entry in self.terms)

    @property
    def everywhere(self) -> Promise:
        """The uses that are promised for every page; none if some pages match no pattern."""
        return frozenset(USES if self.covers_every_page else ()).intersection(*(entry.uses for entry in self.terms))

    @property
    def nowhere(self) -> Promise:
        """The uses that are refused for every page; none if some pages match no pattern."""
        return frozenset(USES if self.covers_every_page else ()).intersection(*(entry.refused for entry in self.terms))
