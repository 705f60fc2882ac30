"""Access checks on the event loop, on facts that the process has cached."""
