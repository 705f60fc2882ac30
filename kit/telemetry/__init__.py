"""What the service tells of itself: metrics, logs, what is observed of each request."""
