"""Events: changes, as the API showed them at that moment, for webhook endpoints and `/v1/events`."""
