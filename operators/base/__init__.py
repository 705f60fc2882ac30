"""What every page of the admin shares: who sees what, how it writes, forms, filters, links."""
