"""Writing decisions: one statement, or transaction, for everybody who is waiting."""
