"""Webhooks: endpoints that others name, and the delivery of events to them."""
