"""Build a release from a checkout, after `run.py setup --dev`. Releases do not contain this package."""
