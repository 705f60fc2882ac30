"""A policy with its rules in the order of their evaluation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from licensing.policies.conditions import CONDITIONS
from licensing.policies.modes import Mode
from licensing.policies.rules import Rule

NextChange = Callable[[datetime], datetime | None]  # returns the next change after a moment


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A policy revision with its rules in evaluation order. A proposed policy has neither id nor version."""

    id: str | None
    version: int | None
    default_action: str
    rules: tuple[Rule, ...]
    mode: str = Mode.ENFORCE
    boundaries: tuple[datetime, ...] = ()  # sorted moments at which time alone may change a decision
    schedules: tuple[NextChange, ...] = ()  # recurring conditions
    reads_address: bool = False  # whether a condition looks at the visitor's address
    comparisons: int = 0  # that a decision may take
    named_permissions: frozenset[str] = frozenset()  # in conditions and in what rules grant

    @classmethod
    def of(
        cls,
        id: str | None,
        version: int | None,
        default_action: str,
        rules: tuple[Rule, ...],
        mode: str = Mode.ENFORCE,
    ) -> "CompiledPolicy":
        conditions = [condition for rule in rules for condition in rule.conditions]
        moments = {moment for condition in conditions for moment in condition.moments}
        schedules = tuple(condition.next_change for condition in conditions if condition.next_change is not None)
        ordered = tuple(sorted(rules, key=Rule.precedence))
        reads_address = any(CONDITIONS[condition.name].reads == "ip" for condition in conditions)
        comparisons = sum(condition.comparisons for condition in conditions)
        return cls(
            id=id,
            version=version,
            default_action=default_action,
            rules=ordered,
            mode=mode,
            boundaries=tuple(sorted(moments)),
            schedules=schedules,
            reads_address=reads_address,
            comparisons=comparisons,
            named_permissions=collect_permissions(rules),
        )

    @property
    def looks_at_the_time(self) -> bool:
        return bool(self.boundaries or self.schedules)

    @property
    def size(self) -> int:
        """Estimate of its memory in bytes."""
        return 500 + sum(rule.size for rule in self.rules)


def collect_permissions(rules: Sequence[Rule]) -> frozenset[str]:
    """Return the permissions that the rules name, in conditions or as granted."""
    permissions = {permission for rule in rules for permission in rule.permissions}
    for rule in rules:
        permissions.update(rule.requested_permissions or ())
    return frozenset(permissions)
