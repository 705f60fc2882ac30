"""Databases: connections on the event loop, calls that requests share, turns at SQLite."""
