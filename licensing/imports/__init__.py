"""Content from files."""
