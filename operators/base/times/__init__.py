"""Times in the operator's time zone."""
