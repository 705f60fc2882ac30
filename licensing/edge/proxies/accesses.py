"""The three ways in which a proxy treats a page, and their order."""

from enum import StrEnum


class Access(StrEnum):
    """How a proxy treats a page, the strictest way first.

    - CLOSED: the service is asked about everybody. Refused while it is down.
    - ASK: the service is asked about everybody. Stays open while it is down.
    - OPEN: the service is asked about crawlers, and about visitors who send a token, a signature or a price. Stays
      open while it is down.
    """

    CLOSED = "closed"
    ASK = "ask"
    OPEN = "open"

    @property
    def strictness(self) -> int:
        return list(Access).index(self)


def strictest(*accesses: Access) -> Access:
    return min(accesses, key=lambda access: access.strictness)
