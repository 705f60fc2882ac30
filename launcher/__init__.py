"""The parts of run.py. Standard library only: it runs before anything is installed."""
