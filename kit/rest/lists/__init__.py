"""Lists: sorting, counting, pages and files."""
