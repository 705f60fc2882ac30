"""The documentation site under /docs/: built from docs/ by Zensical, served as files."""
