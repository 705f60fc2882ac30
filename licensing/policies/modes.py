"""How far a decision is carried out. No ORM, no HTTP."""

from enum import StrEnum


class Mode(StrEnum):
    """Ordered from the strictest to the most lenient; where two apply, the more lenient one counts."""

    ENFORCE = "enforce"  # a denial is a denial
    OBSERVE = "observe"  # a denial is answered as allowed, and recorded as observed
    DISABLED = "disabled"  # nothing is evaluated, everything is allowed


MODES = tuple(mode.value for mode in Mode)
CHOICES = tuple((mode, mode) for mode in MODES)
