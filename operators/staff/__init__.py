"""Operators and their roles."""
