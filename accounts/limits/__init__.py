"""The plan's limits: counters, the throttle of DRF, the headers, what is used up."""
