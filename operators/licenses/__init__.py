"""Licences and licence clients in the admin."""
