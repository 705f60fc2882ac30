"""The content of a site's documents: its terms, and the names and addresses in them."""

from msgspec import Struct

from licensing.edge.publishing.promises import USES, Promise
from licensing.edge.publishing.published_terms import Terms, url_pattern


class Publication(Struct, frozen=True):
    """The terms of a site, as published.

    `netloc` is its host with the requested port, `publisher` the account's name, and `server` the licence server's URL
    (None if it cannot be reached under a served host name).
    """

    netloc: str
    terms: list[Terms]
    publisher: str
    server: str | None = None

    @property
    def covers_every_page(self) -> bool:
        return any(url_pattern(one.url).matches_every_path for one in self.terms)

    @property
    def everywhere(self) -> Promise:
        """The uses that are promised for every page; none if some pages match no pattern."""
        if not self.covers_every_page:
            return frozenset()
        return frozenset(USES).intersection(*(one.uses for one in self.terms))

    @property
    def nowhere(self) -> Promise:
        """The uses that are refused for every page; none if some pages match no pattern."""
        if not self.covers_every_page:
            return frozenset()
        return frozenset(USES).intersection(*(one.refused for one in self.terms))
