"""The demo account and its past."""
