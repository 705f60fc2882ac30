"""Clients of the licence server: credentials with which requesters obtain licence tokens."""
