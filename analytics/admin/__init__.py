"""What operators see of the ledger."""

from analytics.admin import ledger  # noqa: F401 - registers
