"""Modes: whether decisions are enforced. Uses neither ORM nor HTTP."""

from enum import StrEnum


class Mode(StrEnum):
    """Ordered from strictest to most lenient. If two apply, the more lenient one counts."""

    ENFORCE = "enforce"  # denials are returned as such
    OBSERVE = "observe"  # denials are returned as allowed, and recorded as observed
    DISABLED = "disabled"  # everything is allowed without evaluation


MODES = tuple(mode.value for mode in Mode)
CHOICES = tuple((mode, mode) for mode in MODES)
