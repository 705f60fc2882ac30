"""Members of staff in the admin."""
