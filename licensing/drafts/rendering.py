"""JSON of simulations."""

from collections.abc import Iterable
from datetime import timedelta

from kit.values import ids
from kit.values.decimals import render_amount
from kit.values.timestamps import render_timestamp
from licensing.content.models import Content
from licensing.drafts.replay import Change, ChangeCounts, most_changed
from licensing.drafts.simulate import Simulation
from licensing.policies.models import Policy
from licensing.requesters.models import Requester


def present_simulation(policy: Policy, simulation: Simulation) -> dict[str, object]:
    """Return the policy_simulation object. Makes two queries for the names of requesters and items."""
    tally = simulation.tally
    overall = tally.overall
    requesters = most_changed(tally.by_requester)
    items = most_changed(tally.by_content)
    names = dict(
        Requester.objects.filter(
            account_id=policy.account_id, requester_id__in=[key for key, _ in requesters]
        ).values_list("requester_id", "name")
    )
    item_ids = {key: ids.encode("cnt", ids.raw_bytes(key)) for key, _ in items}
    titles = dict(Content.objects.filter(pk__in=item_ids.values()).values_list("id", "title"))
    return {
        "object": "policy_simulation",
        "policyId": policy.pk,
        "policyVersion": simulation.draft.version,
        "startDate": render_timestamp(simulation.start),
        "endDate": render_timestamp(simulation.end - timedelta(microseconds=1)),
        "since": render_timestamp(simulation.since),
        "truncated": simulation.truncated,
        "total": overall.total,
        "unchanged": overall.total - overall.changed,
        "allowedToDenied": overall.allowed_to_denied,
        "deniedToAllowed": overall.denied_to_allowed,
        "reasonChanged": tally.reason_changed,
        "byReason": [
            {"reason": reason, "before": tally.reasons_before[reason], "after": tally.reasons_after[reason]}
            for reason in sorted(tally.reasons_before.keys() | tally.reasons_after.keys())
        ],
        "byRequester": [{"id": key, "name": names.get(key), **present_counts(counts)} for key, counts in requesters],
        "byContent": [
            {"id": item_ids[key], "title": titles.get(item_ids[key], ""), **present_counts(counts)}
            for key, counts in items
        ],
        "revenueAtStake": [
            {"amount": render_amount(amount), "currency": currency}
            for currency, amount in sorted(simulation.at_stake.items())
        ],
        "examples": present_examples([*reversed(tally.newly_denied), *reversed(tally.newly_allowed)]),
    }


def present_counts(counts: ChangeCounts) -> dict[str, int]:
    return {
        "total": counts.total,
        "allowedToDenied": counts.allowed_to_denied,
        "deniedToAllowed": counts.denied_to_allowed,
    }


def present_examples(changes: Iterable[Change]) -> list[dict[str, object]]:
    return [
        {
            "decisionId": ids.encode("dec", ids.raw_bytes(change.past.id)),
            "contentId": ids.encode("cnt", ids.raw_bytes(change.past.content)),
            "requesterId": change.past.facts.requester_id,
            "created": render_timestamp(change.past.facts.now),
            "before": {"allowed": change.past.allowed, "reason": change.past.reason},
            "after": {"allowed": change.allowed, "reason": change.reason, "matchedRule": change.rule},
        }
        for change in changes
    ]
