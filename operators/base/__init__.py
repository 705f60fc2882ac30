"""The base of the admin's pages: scopes, writes, forms, filters, links."""
