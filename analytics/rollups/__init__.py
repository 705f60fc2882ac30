"""The totals that reports read: updating, rebuilding and verifying them."""
