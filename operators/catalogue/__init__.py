"""Content, its imports and exports, and the decisions on it."""
