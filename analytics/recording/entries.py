"""What is recorded of a request: its decisions, and what each claims, costs and keeps."""

from msgspec import Struct, field

from analytics.recording.naming import Naming


class Claim(Struct, frozen=True, gc=False):
    """One use of a rule's limit: `allowance` per window, this one since `window_start` (Unix seconds)."""

    account: str
    requester: int
    policy: str  # UUID in hex
    rule: str  # the rule's fingerprint in hex
    window_start: int
    allowance: int


class Case(Struct, eq=False, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What decisions of a request share that differ only in id and item.

    UUIDs are in hex. `epoch` is the account's when the facts were read. The fields from `number` on are set by the
    batch in its own copy (analytics.recording.batch).

    Fields with their default are not sent: PostgreSQL would spend as long on a null as on a value.
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
    # Where decisions are only observed: why this one would have been denied, empty if it would have been allowed.
    observed: str | None = None
    # By names of accounts.plans.epochs, what it depends on beside items, policy and requester.
    also: list[str] = field(default_factory=list)

    number: int = -1  # of the case in its batch
    first: int = 0  # number of its first decision in the batch, from 1
    last: int = 0  # number of its last decision
    counter: int | None = None  # number of the counter that its decisions claim from
    claimed: int = 0  # claims on that counter by earlier cases
    reply: int | None = None  # number of the reply that is recorded with it
    naming: int | None = None  # number of the requesters that are recorded with it


class Charge(Struct, frozen=True, gc=False):
    """What a decision costs, if it is recorded as allowed. Ids are UUIDs in hex; the amount is in millionths.

    `license` is None where the access was paid for by itself.
    """

    amount: int
    currency: str
    license: str | None
    license_type: str


class KeyClaim(Struct, eq=False, frozen=True, gc=False):
    """The Idempotency-Key of a request: `account` is a UUID in hex, `fingerprint` that of the request, in hex too.

    The batch sets `number` and `naming` in its own copy: its position, and that of the requesters recorded with it.
    """

    account: str
    key: str
    fingerprint: str
    created: str  # ISO 8601
    number: int = 0
    naming: int | None = None


class Reply(Struct, eq=False, frozen=True, gc=False):
    """The sealed reply to a request with an Idempotency-Key, kept with its decisions if the key is free."""

    claim: KeyClaim
    sealed: bytes


class Entry(Struct, frozen=True, gc=False):
    """Decisions to be recorded: their ids and items, UUIDs in hex, what they share, and what each claims and costs.

    With a `reply` there is no claim.
    """

    case: Case
    ids: list[str]
    contents: list[str]
    claim: Claim | None = None
    charge: Charge | None = None
    reply: Reply | None = None
    naming: Naming | None = None
