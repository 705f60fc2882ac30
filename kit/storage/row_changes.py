"""A migration's operation that changes rows, and no column of a table."""

from django.db.migrations import RunPython


class ChangeRows(RunPython):
    """Python that leaves all columns as they are, so that views of the table can stay meanwhile."""
