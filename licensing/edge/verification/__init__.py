"""Verifies crawlers by signature or address."""
