"""The limits of rules that decisions have used up."""

from accounts.limits.reached import is_new, note_rule
from kit.values import ids
from licensing.policies.decision import CompiledPolicy
from licensing.policies.rules import Rule


def note_limit(
    account: str, policy: CompiledPolicy | None, rule: Rule | None, reset: int | None, counted: tuple[str, str | None]
) -> None:
    """Lets it be told that a rule's limit is used up until `reset` (Unix seconds). `account` is a UUID in hex;
    `counted` the requester's own id, and its name if that is known."""
    if rule is None or rule.rate_limit is None or policy is None or policy.id is None or reset is None:
        return
    requester_id, name = counted
    if is_new(policy.id, rule.fingerprint, requester_id, reset):
        note_rule(
            ids.encode("acc", bytes.fromhex(account)),
            policy.id,
            (rule.fingerprint, rule.index),
            (rule.rate_limit.requests, str(rule.rate_limit.period)),
            reset,
            {"id": requester_id, "name": name},
        )
