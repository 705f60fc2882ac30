"""Access checks, and their recorded decisions."""
