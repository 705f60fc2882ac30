"""A migration operation that changes rows, but no columns."""

from django.db.migrations import RunPython


class ChangeRows(RunPython):
    """A RunPython that changes no columns, so views of the table stay in place while it runs."""
