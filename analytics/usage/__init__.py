"""The usage report: requests and their outcomes."""
