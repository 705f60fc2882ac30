"""The demo account and its history."""
