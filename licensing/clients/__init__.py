"""Clients of the licence server: the credentials by which requesters ask for licence tokens."""
