"""Requests and replies: errors, strict JSON, rendering, middleware, bodies under ASGI."""
