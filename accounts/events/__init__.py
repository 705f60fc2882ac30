"""Events: what changed, as the API showed it at that moment, for others to hear of."""
