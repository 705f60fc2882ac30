"""Forms that ask for confirmation, and the guard against overwriting others' changes."""
