"""Licences: what they grant, and which of them count for a check."""
