"""The base of every page of the admin: scopes, writing, forms, filters, links."""
