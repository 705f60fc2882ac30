"""Access checks on the event loop, decided on facts cached in the process."""
