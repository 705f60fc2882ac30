"""Lists of the admin."""
