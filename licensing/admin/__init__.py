"""What operators see of policies."""

from licensing.admin import policies  # noqa: F401 - registers
