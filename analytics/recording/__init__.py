"""Recording decisions in batches, each in one statement or transaction."""
