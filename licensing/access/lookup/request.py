"""Input and result of the look-up for a request."""

from msgspec import Struct

from licensing.access.subjects import Item, RequesterSnapshot

# `contentId`, `externalId`, `source` or `page`, and its value; `elsewhere` for a page the key is not valid for.
Selector = tuple[str, str]


class LookupRequest(Struct, frozen=True, gc=False):
    """The items and requesters to look up for one request."""

    account_id: str
    selectors: set[Selector]
    requesters: set[str]


class LookupResult(Struct, frozen=True, gc=False):
    """The items and requesters that were found, at least as new as `epoch`. Unknown requesters have no `pk`."""

    epoch: int
    items: dict[Selector, Item]
    requesters: dict[str, RequesterSnapshot]
