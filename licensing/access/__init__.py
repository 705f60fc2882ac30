"""Access checks, and the decisions that they left."""
