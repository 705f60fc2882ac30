"""Recorded decisions: their partitions, retention and summaries."""
