"""Licences: what requesters have been granted, and which of them counts."""
