"""HTTP plumbing: errors, strict JSON, rendering, middleware, request bodies under ASGI."""
