"""Shared infrastructure: no models, no domain terms, no imports from apps."""
