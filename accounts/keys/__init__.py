"""API keys: bounds, permissions, authentication and life cycle."""
