"""The usage report: what was asked for and answered."""
