"""Lists of the admin: bounded pages, and filters kept for an operator."""
