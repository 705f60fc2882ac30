"""How `migrate` and `start` change the tables."""
