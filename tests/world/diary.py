"""Requests and replies of the world: the model's only input. Plain data, without product code."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from tests.world.caller import Reply


class Change(NamedTuple):
    """A new state of a resource, set at some time between `begun` and `ended`."""

    begun: float
    ended: float
    state: Mapping[str, Any]


@dataclass
class History:
    """The states of one resource, which one person changes at a time."""

    changes: list[Change] = field(default_factory=list)

    @property
    def latest(self) -> Mapping[str, Any]:
        return self.changes[-1].state

    def write(self, reply: Reply, **fields: Any) -> None:
        """Append the latest state with these fields changed, with the request's times."""
        before = self.latest if self.changes else {}
        self.changes.append(Change(reply.begun, reply.ended, {**before, **fields}))

    def may_be_absent(self, begun: float) -> bool:
        """Whether the resource may not have existed when a request began."""
        return begun <= self.changes[0].ended

    def between(self, begun: float, ended: float) -> list[Mapping[str, Any]]:
        """Return the states that a request between these times may have seen."""
        seen: list[Mapping[str, Any]] = []
        for change in self.changes:
            if change.ended < begun:
                seen = []
            if change.begun <= ended:
                seen.append(change.state)
        return seen


@dataclass
class Question:
    """A request for a decision, and its reply.

    `item` is an externalId; at the edge, `page` is the normalised path. For an unverified crawler, `further` is a
    second requester and permission that must be allowed too.
    """

    actor: str
    way: str  # "check", "batch", "edge" or "log"
    requester: str
    item: str | None = None
    page: str | None = None
    permission: str | None = None
    name: str | None = None  # the requester's, as the caller sends it
    license_type: str | None = None  # what the caller asserts
    has_valid_license: bool = False
    ip: str | None = None
    further: tuple[str, str] | None = None
    license: str | None = None  # by whose token the visitor asks
    offered: Decimal | None = None  # the price that the visitor offers; in USD
    is_free: bool = False  # HEAD costs nothing
    referrer: str | None = None  # host of the page that sent the reader
    logged: float | None = None  # time of the request in a log that was imported between `begun` and `ended`
    begun: float = 0.0
    ended: float = 0.0
    status: int = 0
    answer: Mapping[str, Any] | None = None  # the decision, where the reply shows it

    @property
    def is_visit(self) -> bool:
        return self.way in ("edge", "log")

    @property
    def decided_between(self) -> tuple[float, float]:
        """The earliest and the latest possible time of the decision."""
        return (self.begun, self.ended) if self.logged is None else (self.logged, self.logged)

    @property
    def is_lost(self) -> bool:
        return self.status == 0 or self.status >= 500

    @property
    def is_recorded(self) -> bool:
        """Whether a decision must be recorded: not for malformed requests or invalid tokens."""
        return self.status in (200, 402, 403, 429)


EVENTS = ("content.", "policy.", "api_key.", "license.", "revenue.")


class Deed(NamedTuple):
    """A change that must produce one audit log entry and, if a type exists for it, one event."""

    action: str  # as the audit log calls it
    event: str | None
    resource: str  # the id
    actor: str  # the type of the actor in the audit log: key, operator, command


class Promise(NamedTuple):
    """An expected immediate reply, and the actual one."""

    who: str
    sentence: str
    wanted: Any
    found: Any


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


class Booking(NamedTuple):
    """An expected ledger entry. Reports count it at `counts`; it was recorded at `booked`."""

    type: str
    amount: Decimal
    currency: str
    requester: str | None
    license: str | None  # the licence's id
    tier: str | None
    content: str | None  # the item's id
    decision: str | None
    counts: datetime
    booked: datetime


class Paid(NamedTuple):
    """A recorded payment or payout."""

    requester: str
    amount: Decimal
    currency: str
    external_id: str | None
    received: str | None  # if given; otherwise the time of recording
    note: str | None
    kind: str
    grant: str | None  # the credit that it paid for
    begun: float
    voided: float | None = None
    reason: str | None = None


class Purse(NamedTuple):
    """A wallet when opened; `moved` has the time and the new owner if a merge moved it."""

    requester: str
    unit: str  # a currency, or "access"
    license: str | None  # the id of the only licence that it pays for
    begun: datetime
    refill: Mapping[str, Any] | None
    moved: tuple[datetime, str] | None = None

    def owner_at(self, moment: datetime) -> str:
        return self.moved[1] if self.moved and self.moved[0] <= moment else self.requester


class Carried(NamedTuple):
    """A merge moved all credit of one wallet to another."""

    source: str
    target: str
    at: datetime


class Person(NamedTuple):
    """An erased person."""

    former: str  # the id
    pseudonym: str
    texts: frozenset[str]  # that described the person

    def forgotten(self, value: Any) -> Any:
        """Return a document without the person's data."""
        if isinstance(value, dict):
            return {name: self.member(name, one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.forgotten(one) for one in value]
        if isinstance(value, str) and value in self.texts:
            return None
        return self.pseudonym if value == self.former else value

    def member(self, name: str, value: Any) -> Any:
        if name == "metadata":
            return {}
        return None if name in ("requesterName", "description", "note") else self.forgotten(value)


class Voided(NamedTuple):
    """The time at which a grant was voided, and the request's begin and end."""

    at: datetime
    begun: float
    ended: float

    def overlaps(self, begun: float, ended: float) -> bool:
        return begun <= self.ended and self.begun <= ended


@dataclass
class Granted:
    wallet: str
    amount: Decimal
    priority: int
    begins: datetime
    ends: datetime | None
    voided: Voided | None = None
    refunds: str | None = None  # the decision


class Diary:
    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.deeds: list[Deed] = []
        self.promises: list[Promise] = []
        self.entries: list[Booking] = []  # without charges of decisions
        self.payments: dict[str, Paid] = {}  # by id
        self.policies: dict[str, History] = defaultdict(History)  # by name
        self.items: dict[str, History] = defaultdict(History)  # by externalId
        self.licenses: dict[str, History] = defaultdict(History)  # by id
        self.sites: dict[str, History] = defaultdict(History)  # by host
        self.wallets: dict[str, Purse] = {}  # by id
        self.grants: dict[str, Granted] = {}  # by id
        self.requesters: dict[str, str | None] = {}  # names, by the publisher's own ids
        self.merged: dict[str, str] = {}  # requesters, by the ids that they had before
        self.carried: list[Carried] = []
        self.erased: list[Person] = []
        self.rates: dict[str, dict[str, Decimal]] = {}  # currencies to the euro, by day
        self.kills: list[tuple[float, float]] = []  # from before a kill until a start begins

    def ask(self, asked: Question, reply: Reply, answer: Any = None) -> Reply:
        """Note a question with its reply; `answer` is its decision if the reply is that of a batch."""
        asked.begun, asked.ended, asked.status = reply.begun, reply.ended, reply.status
        if not asked.is_visit and reply.status == 200:
            asked.answer = answer or reply.body
        self.questions.append(asked)
        return reply

    def promise(self, who: str, sentence: str, wanted: Any, found: Any) -> None:
        self.promises.append(Promise(who, sentence, wanted, found))

    def meet(self, requester: str, name: str | None = None) -> None:
        """Note a requester. A name fills an empty one and never replaces one."""
        self.requesters[requester] = self.requesters.get(requester) or name

    def forget(self) -> None:
        """Replace the ids of erased requesters by their pseudonyms. Call it at the end of the month."""
        for person in self.erased:
            for asked in self.questions:
                if asked.requester == person.former:
                    asked.requester, asked.ip = person.pseudonym, None
            self.deeds = [one._replace(resource=person.forgotten(one.resource)) for one in self.deeds]
            self.entries = [one._replace(requester=person.forgotten(one.requester)) for one in self.entries]
            for id_, paid in self.payments.items():
                if paid.requester == person.former:
                    self.payments[id_] = paid._replace(requester=person.pseudonym, note=None)
            for known in self.licenses.values():
                known.changes = [
                    one._replace(state={**one.state, "requester": person.forgotten(one.state["requester"])})
                    for one in known.changes
                ]
            for id_, purse in self.wallets.items():
                self.wallets[id_] = purse._replace(requester=person.forgotten(purse.requester))
            self.requesters[person.pseudonym] = self.requesters.pop(person.former) and None

    def deed(self, action: str, resource: str, actor: str = "key", event: str | None = None) -> None:
        """Note a change; `event` is its event type if it differs from the action."""
        type_ = event or (action if action.startswith(EVENTS) else None)
        self.deeds.append(Deed(action, type_, resource, actor))
