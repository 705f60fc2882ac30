"""Pages and probes for monitoring."""
