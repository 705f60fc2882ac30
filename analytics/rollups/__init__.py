"""The totals that reports read: kept current, rebuilt, compared with the events."""
