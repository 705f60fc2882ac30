"""Events: changes, with the resource as the API showed it, for webhooks and `/v1/events`."""
