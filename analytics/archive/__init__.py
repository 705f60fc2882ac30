"""Closed months of decisions in an Apache Iceberg table, which other engines can read."""
