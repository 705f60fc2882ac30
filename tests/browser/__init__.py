"""Operators' tasks in a real browser on a real server, from login to result."""
