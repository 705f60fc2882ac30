"""The record of a request: its decisions, and what each claims, costs and stores."""

from collections.abc import Callable

from msgspec import Struct, field

from analytics.recording.naming import Naming
from analytics.recording.spending_sql import Spend, Spending


class Claim(Struct, frozen=True, gc=False):
    """One use of a rule's limit: `allowance` per window, which began at `window_start` (Unix seconds)."""

    account: str
    requester: int
    policy: str  # UUID in hex
    rule: str  # rule fingerprint in hex
    window_start: int
    allowance: int


class Case(Struct, eq=False, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The fields shared by decisions of a request that differ only in id and item.

    UUIDs are in hex. `epoch` is the account's when the facts were read. The batch sets the fields from `number` on in
    a copy (analytics.recording.batch).

    Fields with their default are not sent, because PostgreSQL spends as much time on a null as on a value.
    """

    account: str
    epoch: int
    requester: int
    allowed: bool
    facts: dict[str, object]
    created: str  # ISO 8601
    policy: str | None = None
    policy_version: int | None = None
    reason: str | None = None
    rule_index: int | None = None
    permission: str | None = None
    rate_reset: int | None = None
    # In observe mode: why it would have been denied; empty if it would have been allowed.
    observed: str | None = None
    # Names (accounts.plans.epochs) that it depends on besides items, policy and requester.
    also: list[str] = field(default_factory=list)

    number: int = -1  # of the case in its batch
    first: int = 0  # number of its first decision in the batch, from 1
    last: int = 0  # number of its last decision
    counter: int | None = None  # number of the counter that it claims from
    claimed: int = 0  # claims on that counter by earlier cases
    reply: int | None = None  # number of the reply recorded with it, from 1
    naming: int | None = None  # number of the naming recorded with it
    purse: int | None = None  # number of the wallet that pays it, or another decision of its request
    taken: int | None = None  # what the batch takes from that wallet up to its own last spend, in millionths


class Charge(Struct, frozen=True, gc=False):
    """The price of a decision, if it is recorded as allowed. Ids are UUIDs in hex; the amount is in millionths.

    `license` is None for a single paid access.
    """

    amount: int
    currency: str
    license: str | None
    license_type: str


class KeyClaim(Struct, eq=False, frozen=True, gc=False):
    """A request's Idempotency-Key: `account` is a UUID in hex, `fingerprint` the request's digest in hex.

    The batch sets `naming`, the requesters recorded with it, in a copy.
    """

    account: str
    key: str
    fingerprint: str
    created: str  # ISO 8601
    naming: int | None = None


class Reply(Struct, eq=False, frozen=True, gc=False):
    """The encrypted reply to a request with an Idempotency-Key, stored with its decisions if the key is free."""

    claim: KeyClaim
    sealed: bytes


class Entry(Struct, frozen=True, gc=False):
    """Decisions to record: ids and items as UUIDs in hex, shared fields, claim and charge.

    If `is_awaited` says that the client has left, nothing is recorded. Entries with a `reply` have no claim. `spends`
    has what its only decision takes from wallets, each with the UUID of its wallet entry in hex; then all entries of
    the request share its `spending`, and none has a claim or reply.
    """

    case: Case
    ids: list[str]
    contents: list[str]
    claim: Claim | None = None
    charge: Charge | None = None
    reply: Reply | None = None
    naming: Naming | None = None
    spending: Spending | None = None
    spends: tuple[tuple[str, Spend], ...] = ()
    is_awaited: Callable[[], bool] | None = None
