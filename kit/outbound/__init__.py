"""Requests to addresses that others name, which must not lead into the network of whoever runs the service (SSRF)."""
