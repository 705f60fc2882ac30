"""Safe retries of POST requests with an Idempotency-Key."""
