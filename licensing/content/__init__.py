"""The items that a publisher owns."""
