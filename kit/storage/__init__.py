"""Databases: connections on the event loop, shared calls, write turns on SQLite."""
