"""Signed decisions, licence tokens, and the keys of both."""
