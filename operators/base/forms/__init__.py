"""Forms that ask before they save, and those that somebody else has saved meanwhile."""
