"""A publisher's content items: models, endpoints and URL keys."""
