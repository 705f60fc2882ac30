"""Customers: requesters as people manage them, with all that belongs to them: merged, and erased."""
