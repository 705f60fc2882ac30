"""What an API key may be given, and what becomes of it."""
