"""Lists of the admin: bounded paging and saved filters."""
