"""Content with its imports and exports, sites, and decisions."""
