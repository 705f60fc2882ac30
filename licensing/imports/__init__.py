"""Importing content from files."""
