"""What a release consists of. Runs in a checkout with `run.py setup --dev`; no part of a release itself."""
