"""Checking access: from requests to decisions that are on disk before their answers leave (contract §10).

All checks of one call are looked up, decided, counted and recorded together, in a fixed number of queries and one
transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import F

from analytics import recorder
from analytics.models import AccessEvent
from config.api import ids
from config.api.errors import ApiError, NotFound
from licensing.decisions import CompiledPolicy, Decision, Reason, decide
from licensing.facts import facts_of, read_facts
from licensing.models import Content, PolicyRevision, Requester, Status
from licensing.rule_limits import Claim, RateState, settle
from licensing.rules import Facts, parse_rules
from licensing.sources import source_key

SELECTORS = ("contentId", "externalId", "source")
COMPILED_POLICIES = 10_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision with all that its reply tells of."""

    id: str | None  # None for a dry run, of which there is no record
    decision: Decision
    content_id: str
    requester_id: str
    requester_name: str | None
    policy: CompiledPolicy | None
    facts: Facts
    rate: RateState | None
    dry_run: bool
    created: datetime


@lru_cache(maxsize=COMPILED_POLICIES)
def compiled_policy(policy_id: str, version: int) -> CompiledPolicy:
    """A revision, compiled. It never changes, so what is cached is never stale."""
    revision = PolicyRevision.objects.get(policy_id=policy_id, version=version)
    return CompiledPolicy.of(policy_id, version, revision.default_action, parse_rules(revision.rules))


@transaction.atomic
def check_access(account_id: str, requests: Sequence[dict[str, Any]], now: datetime) -> list[Answer | ApiError]:
    """The answer to each request, in their order; NotFound in the place of one whose item does not exist."""
    items = find_items(account_id, requests)
    requesters = find_requesters(account_id, requests)
    answers: list[Answer | ApiError] = []
    recorded: dict[int, dict[str, Any]] = {}
    for index, request in enumerate(requests):
        item = items.get(selector(request))
        if item is None:
            name, value = selector(request)
            answers.append(NotFound(f"There is no content item with the {name} {value[:200]!r}.", param=name))
            continue
        recorded[index] = facts_of(item, request)
        answers.append(answer_to(request, item, recorded[index], requesters, now))
    answers = apply_rule_limits(answers, requesters)
    recorder.record(
        [
            event_of(account_id, answer, recorded[index], requesters)
            for index, answer in enumerate(answers)
            if isinstance(answer, Answer) and not answer.dry_run
        ]
    )
    return answers


def selector(request: dict[str, Any]) -> tuple[str, str]:
    """Which of the three ways of naming an item is used, and the name."""
    return next((name, request[name]) for name in SELECTORS if request.get(name) is not None)


def find_items(account_id: str, requests: Sequence[dict[str, Any]]) -> dict[tuple[str, str], Content]:
    """The items by their selectors; of several at one URL the newest active one."""
    named: dict[str, set[str]] = {name: set() for name in SELECTORS}
    for request in requests:
        name, value = selector(request)
        named[name].add(value)
    owned = Content.objects.of(account_id).annotate(policy_version=F("policy__version"))
    found: dict[tuple[str, str], Content] = {}
    real_ids = [value for value in named["contentId"] if ids.decode("cnt", value) is not None]
    if real_ids:
        found |= {("contentId", item.pk): item for item in owned.filter(pk__in=real_ids)}
    if named["externalId"]:
        items = owned.filter(external_id__in=named["externalId"])
        found |= {("externalId", item.external_id or ""): item for item in items}
    if named["source"]:
        keys = {url: source_key(url) for url in named["source"]}
        at: dict[bytes, Content] = {}
        for item in owned.filter(source_key__in=set(keys.values())).order_by("created", "id"):
            key = bytes(item.source_key or b"")
            if key not in at or item.status == Status.ACTIVE or at[key].status != Status.ACTIVE:
                at[key] = item
        found |= {("source", url): at[key] for url, key in keys.items() if key in at}
    return found


def find_requesters(account_id: str, requests: Sequence[dict[str, Any]]) -> dict[str, Requester]:
    """The requesters by their own ids; those that are new, or have a new name, are written (not for dry runs)."""
    wanted = {request["requester"]["id"] for request in requests}
    lasting = [request["requester"] for request in requests if not request.get("dryRun")]
    known = {row.requester_id: row for row in Requester.objects.filter(account_id=account_id, requester_id__in=wanted)}
    new = {requester["id"]: requester.get("name") for requester in lasting if requester["id"] not in known}
    if new:
        Requester.objects.bulk_create(
            [Requester(account_id=account_id, requester_id=id_, name=name) for id_, name in sorted(new.items())],
            ignore_conflicts=True,
        )
        rows = Requester.objects.filter(account_id=account_id, requester_id__in=new)
        known |= {row.requester_id: row for row in rows}
    for requester in sorted(lasting, key=lambda one: one["id"]):
        row, name = known[requester["id"]], requester.get("name")
        if name is not None and row.name != name:
            row.name = name
            row.save(update_fields=["name"])
    return known


def answer_to(
    request: dict[str, Any], item: Content, recorded: dict[str, Any], requesters: dict[str, Requester], now: datetime
) -> Answer:
    requester_id = request["requester"]["id"]
    facts = read_facts(recorded, requester_id, request.get("permission"), now)
    policy = compiled_policy(item.policy_id, item.policy_version) if item.policy_id else None  # type: ignore[attr-defined]
    known = requesters.get(requester_id)
    dry_run = request.get("dryRun", False)
    return Answer(
        id=None if dry_run else ids.new_id("dec"),
        decision=decide(policy, facts),
        content_id=item.pk,
        requester_id=requester_id,
        requester_name=request["requester"].get("name") or (known.name if known else None),
        policy=policy,
        facts=facts,
        rate=None,
        dry_run=dry_run,
        created=now,
    )


def apply_rule_limits(
    answers: list[Answer | ApiError], requesters: dict[str, Requester]
) -> list[Answer | ApiError]:
    """Counts what was allowed by a rule with a limit; what finds it exhausted is denied. No other rule is tried."""
    limited: list[int] = []
    claims: list[Claim] = []
    for index, answer in enumerate(answers):
        if not isinstance(answer, Answer) or not answer.decision.allowed:
            continue
        rule = answer.decision.rule
        if rule is None or rule.rate_limit is None or answer.policy is None:
            continue
        requester = requesters.get(answer.requester_id)
        limited.append(index)
        claims.append(
            Claim(
                policy_id=answer.policy.id,
                fingerprint=rule.fingerprint,
                requester=requester.pk if requester else None,
                limit=rule.rate_limit,
                now=answer.created,
                cost=0 if answer.dry_run else 1,
            )
        )
    settled = list(answers)
    for index, state in zip(limited, settle(claims) if claims else [], strict=True):
        answer = settled[index]
        assert isinstance(answer, Answer)  # noqa: S101 - only such were collected
        decision = answer.decision
        if not state.allowed:
            decision = replace(decision, allowed=False, reason=Reason.RATE_LIMIT_EXCEEDED, permissions=())
        settled[index] = replace(answer, decision=decision, rate=state)
    return settled


def event_of(
    account_id: str, answer: Answer, recorded: dict[str, Any], requesters: dict[str, Requester]
) -> AccessEvent:
    decision, policy, rate = answer.decision, answer.policy, answer.rate
    return AccessEvent(
        id=answer.id,
        account_id=account_id,
        content_id=answer.content_id,
        requester_id=requesters[answer.requester_id].pk,
        policy_id=policy.id if policy else None,
        policy_version=policy.version if policy else None,
        allowed=decision.allowed,
        reason=decision.reason,
        rule_index=decision.rule.index if decision.rule else None,
        permission=answer.facts.permission,
        facts=recorded,
        rate_remaining=rate.remaining if rate else None,
        rate_reset=rate.reset if rate else None,
        created=answer.created,
    )
