"""Rate limits of rules, counted per rule and requester or visitor. The recorder counts them with the decisions.

Rate limits are licence terms, so the count is in the database: exact over all processes, durable, and unaffected by
decisions that were not recorded.

At the edge, a cookie tells visitors without an identity apart (licensing.edge.cookies). A rule counts the first access
of a cookie for the address, because the same reader may come without it again. This holds for each rule: otherwise
cookies that a generous limit hands out would open a strict one. The access counts for the cookie as well, which says
so itself: `Marks`. Many readers share an address, so it has the allowance of READERS_PER_ADDRESS of them.
"""

from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import NamedTuple

from accounts.limits.events import first_time, note_rule, rename_rule
from analytics.models import RuleUsage
from kit.http.headers import client_network
from kit.values import ids
from licensing.crawler_classes import DECIDED_AS_AT_SITES
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.facts import Facts
from licensing.policies.rules import VISITOR, RateLimit, Rule, counter_fingerprint, parse_rate_limit

StoredRule = Mapping[str, object]  # in JSON

# How the edge identified visitors that it does not know, and crawlers that it does: by address, name or signature.
UNIDENTIFIED = ("nothing", "user_agent")
CRAWLERS = ("address", "reverse_dns", "signature")
VISITOR_ID_PREFIX = b"\0visitor:"
VISITOR_ADDRESS_PREFIX = b"\0address:"
READERS_PER_ADDRESS = 100  # for limits of a day or longer; shorter ones protect the origin
MARK_BYTES = 5
MARK_LIFETIME = timedelta(days=180)  # then a rule counts a cookie as new again
MAX_WINDOW = timedelta(days=31)  # a window
BATCH_ROWS = 500  # written at a time
# The rules that have counted a cookie, each with the begin of the window that counted its first access (Unix seconds).
Marks = Mapping[bytes, int]
PERIOD_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 7 * 86_400}
MONTH_SECONDS = 30 * 86_400  # about a month, to compare limits
LONG_PERIODS = ("day", "week", "month")
MAX_ALLOWANCE = 2_000_000_000  # fits the counter's column
FIRST_MONDAY = 4 * 86_400  # 1970-01-05, in Unix seconds


def requests_per_second(limit: RateLimit) -> float:
    return limit.requests / PERIOD_SECONDS.get(limit.period, MONTH_SECONDS)


class LimitWindow(NamedTuple):
    """A window of a rate limit, in Unix seconds."""

    begin: int
    end: int


def limit_window(period: str, now: datetime) -> LimitWindow:
    """Return the current window.

    Windows are UTC seconds, minutes, hours, days, weeks (from Monday) or calendar months.
    """
    if period == "month":
        first = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        begin = int(first.timestamp())
        _, days = monthrange(first.year, first.month)
        return LimitWindow(begin, begin + days * PERIOD_SECONDS["day"])
    length = PERIOD_SECONDS[period]
    offset = FIRST_MONDAY if period == "week" else 0
    since_offset = int(now.timestamp()) - offset
    begin = since_offset - since_offset % length + offset
    return LimitWindow(begin, begin + length)


def counts_visitor(rule: Rule, facts: Facts) -> bool:
    """Return whether the rule's limit counts the visitor. Requesters that the edge has identified count themselves.

    A verified crawler that is decided as a reader counts for its address: otherwise a faked one would have more.
    """
    if rule.rate_limit is None or rule.rate_limit.per != VISITOR:
        return False
    if facts.identified_by is None or facts.identified_by in UNIDENTIFIED:
        return True
    reads = DECIDED_AS_AT_SITES.get(facts.permission or "", facts.permission) == "read"
    return reads and facts.identified_by in CRAWLERS


def counter_key(rule: Rule, facts: Facts) -> bytes:
    """Return the key of the rule's counter of a requester: of all its accesses, or of a visitor's."""
    if not counts_visitor(rule, facts):
        return rule.fingerprint
    if facts.visitor_id is not None:
        return counter_of_visitor(rule, facts.visitor_id)
    if facts.ip is not None:
        return digest(rule.fingerprint + VISITOR_ADDRESS_PREFIX, client_network(facts.ip))
    return rule.fingerprint


def effective_limit(rule: Rule, facts: Facts) -> RateLimit | None:
    """Return the rule's limit for this requester: more than one reader's if the edge counts an address."""
    limit = rule.rate_limit
    is_address = facts.identified_by is not None and facts.visitor_id is None and counts_visitor(rule, facts)
    if limit is None or not is_address or limit.period not in LONG_PERIODS:
        return limit
    return replace(limit, requests=min(limit.requests * READERS_PER_ADDRESS, MAX_ALLOWANCE))


def counter_of_visitor(rule: Rule, visitor_id: str) -> bytes:
    return digest(rule.fingerprint + VISITOR_ID_PREFIX, visitor_id)


def digest(kind: bytes, name: str) -> bytes:
    return blake2b(kind + name.encode(), digest_size=16).digest()


def needs_cookie(policy_id: str, rule: Rule | None, facts: Facts, marks: Marks) -> bool:
    """Return whether the edge gives the visitor a cookie, by which the rule counts its next accesses.

    `marks` are those of the cookie that the visitor sent, if any.
    """
    if rule is None or facts.identified_by not in UNIDENTIFIED or not counts_visitor(rule, facts):
        return False
    return facts.visitor_id is None or first_counted_window(policy_id, rule, marks, facts.now) is None


def first_counted_window(policy_id: str, rule: Rule, marks: Marks, now: datetime) -> int | None:
    """Return the begin of the window in which the rule counted the cookie's first access, for its address.

    None if it has not, or too long ago.
    """
    begin = marks.get(cookie_mark(policy_id, rule))
    return None if begin is None or begin < (now - MARK_LIFETIME).timestamp() else begin


def cookie_mark(policy_id: str, rule: Rule) -> bytes:
    """Return the rule's name in cookies."""
    return blake2b(f"{policy_id}:".encode() + rule.fingerprint, digest_size=MARK_BYTES).digest()


def delete_ended_counts(now: datetime) -> None:
    RuleUsage.objects.filter(window_start__lt=int((now - MAX_WINDOW).timestamp())).delete()


def move_counts(policy_id: str, old_rules: Iterable[StoredRule], new_rules: Iterable[StoredRule]) -> None:
    """Keep the counts of rules whose conditions were rewritten, and the notices that they are used up.

    `old_rules` and `new_rules` are the policy's rules before and after, in the same order. Counters of single visitors
    start anew.
    """
    for old_rule, new_rule in zip(old_rules, new_rules, strict=True):
        if old_rule.get("rateLimit") is None or old_rule["conditions"] == new_rule["conditions"]:
            continue
        limit = parse_rate_limit(old_rule["rateLimit"], "rateLimit")
        old_fingerprint = counter_fingerprint(old_rule["action"], old_rule["conditions"], limit)
        new_fingerprint = counter_fingerprint(new_rule["action"], new_rule["conditions"], limit)
        # Locked in the same order as by checks.
        counters = RuleUsage.objects.select_for_update().filter(policy_id=policy_id, rule=old_fingerprint)
        locked = [row.pk for row in counters.order_by("requester_id")]
        for first in range(0, len(locked), BATCH_ROWS):
            RuleUsage.objects.filter(pk__in=locked[first : first + BATCH_ROWS]).update(rule=new_fingerprint)
        rename_rule(policy_id, old_fingerprint, new_fingerprint)


def remaining_requests(
    policy_id: str | None, counter: bytes, limit: RateLimit, requester: int | None, now: datetime
) -> int:
    """Return how many more requests the limit allows in the current window.

    New requesters and proposed policies have the full limit.
    """
    if requester is None or policy_id is None:
        return limit.requests
    begin = limit_window(limit.period, now).begin
    usage = RuleUsage.objects.filter(requester_id=requester, policy_id=policy_id, rule=counter).first()
    used = usage.used if usage is not None and usage.window_start >= begin else 0
    return max(limit.requests - used, 0)


def note_used_up(
    account: str, policy: CompiledPolicy | None, rule: Rule | None, reset: int | None, requester_id: str
) -> None:
    """Emit the event of a rule's limit that is used up until `reset` (Unix seconds).

    `account` is a UUID in hex. Limits per visitor have no event: it would be sent for every reader.
    """
    if rule is None or rule.rate_limit is None or policy is None or policy.id is None or reset is None:
        return
    if rule.rate_limit.per == VISITOR:
        return
    if first_time(policy.id, rule.fingerprint, requester_id, reset):
        note_rule(
            account_id=ids.encode("acc", bytes.fromhex(account)),
            policy_id=policy.id,
            fingerprint=rule.fingerprint,
            rule_index=rule.index,
            requests=rule.rate_limit.requests,
            period=str(rule.rate_limit.period),
            ends=reset,
            requester_id=requester_id,
        )
