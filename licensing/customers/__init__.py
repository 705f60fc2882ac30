"""Customers: merging and erasing requesters with everything that belongs to them."""
