"""HTTP requests to user-supplied addresses, kept out of the operator's own network (SSRF)."""
