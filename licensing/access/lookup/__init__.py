"""Looks up items, pages, policies and requesters in the database."""
