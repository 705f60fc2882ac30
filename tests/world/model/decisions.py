"""The possible answers to each question, given the possible states at that time."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import product
from typing import Any

from tests.world.diary import Diary, History, Question
from tests.world.model.evaluator import Facts, Verdict, decide, facts_of
from tests.world.model.wallets import REASONS, spends_of
from tests.world.publisher import HOST

State = Mapping[str, Any]
PAGES_ITEM = ""  # for pages of the site that are not items


def verdicts(diary: Diary, asked: Question, at: datetime | None = None) -> list[Verdict]:
    """Yield the correct verdicts: several only if something changed during the request.

    `at` is the time of the decision, if known.
    """
    moments = [at] if at else [datetime.fromtimestamp(one, UTC) for one in (asked.begun, asked.ended)]
    found: list[Verdict] = []
    for moment, site, item in product(moments, sites(diary, asked), items(diary, asked)):
        name, policies = policies_for(diary, asked, site, item)
        people = [asked.requester, *([asked.further[0]] if asked.further else [])]
        held = [licences(diary, asked, requester) for requester in people]
        for policy, *terms in product(policies, *held):
            verdict = verdict_on(asked, moment, site, item, policy, terms, is_open=name is None)
            if verdict not in found:
                found.append(verdict)
    return found


def sites(diary: Diary, asked: Question) -> list[State | None]:
    """Return the site's states. An import of a log decides as if the site were in observe mode."""
    if not asked.is_visit:
        return [None]
    mode = {"mode": "observe"} if asked.way == "log" else {}
    return [{**state, **mode} for state in diary.sites[HOST].between(asked.begun, asked.ended)]


def items(diary: Diary, asked: Question) -> list[State | None]:
    """Return the item's states; None for a page that is not, or no longer, an item."""
    if asked.item is None:
        return [None]
    states = diary.items[asked.item].between(asked.begun, asked.ended)
    return [None if state.get("deleted") else state for state in states]


def policies_for(
    diary: Diary, asked: Question, site: State | None, item: State | None
) -> tuple[str | None, list[State | None]]:
    """Return the name of the deciding policy and its possible states."""
    name = item["policy"] if item is not None else pattern_policy(asked.page or "", site)
    if name is None:
        return None, [None]
    return name, list(diary.policies[name].between(asked.begun, asked.ended))


def pattern_policy(page: str, site: State | None) -> str | None:
    assert site is not None, "The model was asked about an item that is gone."
    matching = [pattern for pattern in site["patterns"] if page.startswith(pattern)]
    return site["patterns"][max(matching, key=len)] if matching else None


@lru_cache(maxsize=1)
def licences_by_requester(diary: Diary) -> Mapping[str, list[tuple[str, History]]]:
    """Return the licences that each requester ever had, of a diary that is complete.

    Searching all licences for each question would take six times as long as deciding.
    """
    found: dict[str, list[tuple[str, History]]] = defaultdict(list)
    for id_, known in diary.licenses.items():
        for requester in {change.state["requester"] for change in known.changes}:
            found[requester].append((id_, known))
    return found


def licences(diary: Diary, asked: Question, requester: str) -> list[list[tuple[str, State]]]:
    """Return the possible sets of the requester's licences. A licence that is being issued may be absent."""
    own: list[list[tuple[str, State] | None]] = []
    for id_, known in licences_by_requester(diary).get(requester, []):
        states = [one for one in known.between(asked.begun, asked.ended) if one["requester"] == requester]
        if states:
            absent = [None] if known.may_be_absent(asked.begun) else []
            own.append([*((id_, state) for state in states), *absent])
    return [[held for held in chosen if held] for chosen in product(*own)]


def verdict_on(
    asked: Question,
    moment: datetime,
    site: State | None,
    item: State | None,
    policy: State | None,
    held: list[list[tuple[str, State]]],
    *,
    is_open: bool,
) -> Verdict:
    mode = site["mode"] if site else "enforce"
    if site is not None and item is None and is_open:
        return Verdict(True, permissions=())
    shown = item or {}
    presented = asked.license and [one for one in held[0] if one[0] == asked.license]
    asserted = (asked.license_type, asked.has_valid_license)
    facts = facts_of(
        asked.requester,
        asked.permission,
        asked.ip,
        shown.get("id", PAGES_ITEM),
        {**shown, "policy": policy["name"] if policy else None},
        presented or held[0],
        moment,
        asserted,
    )
    offered = None if asked.is_free else asked.offered
    verdict = decide(policy, facts, mode, offered)
    if asked.further and verdict.allowed and not verdict.observed:
        verdict = further_verdict(asked, facts, policy, mode, verdict, held[1])
    if asked.is_free:
        return replace(verdict, charge=None)
    return replace(verdict, charge=None, would_charge=verdict.charge) if verdict.is_observed else verdict


def further_verdict(
    asked: Question,
    facts: Facts,
    policy: State | None,
    mode: str,
    verdict: Verdict,
    held: list[tuple[str, State]],
) -> Verdict:
    """Return the verdict for an unverified crawler, which must pass the rules for anybody and their shared limit."""
    assert asked.further
    requester, permission = asked.further
    moment, item = facts.at, facts.item
    other = decide(policy, facts_of(requester, permission, asked.ip, item.get("id", ""), item, held, moment), mode)
    return other if not other.allowed or other.observed or other.limit else verdict


def right_answers(diary: Diary, asked: Question, at: datetime | None = None) -> Iterator[Verdict]:
    """Yield the correct verdicts, including those for a wallet without credit or a used-up limit."""
    for free in verdicts(diary, asked, at):
        spends, would_spend = spends_of(diary, asked, free), ()
        if free.is_observed and not free.observed and not asked.is_free and asked.way != "log":
            enforced = replace(free, is_observed=False, charge=free.would_charge)
            would_spend = spends_of(diary, asked, enforced)
        verdict = replace(free, spends=spends, would_spend=would_spend)
        yield verdict
        for wallet, _ in (*spends, *would_spend):
            yield verdict.unpaid(wallet, REASONS.get(diary.wallets[wallet].unit, "credits_exhausted"))
        if verdict.allowed and verdict.limit and not verdict.observed:
            yield verdict.used_up
