"""Visitors at the edge: daily counts of recorded decisions."""
