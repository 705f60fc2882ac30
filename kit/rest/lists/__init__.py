"""Lists: their orders, counts, pages and files."""
