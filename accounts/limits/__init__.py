"""Plan limits: counters, DRF's throttle, headers, and events for limits that are used up."""
