"""Decisions that only the archive has, as part of lists and queries."""
