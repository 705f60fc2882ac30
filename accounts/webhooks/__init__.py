"""Webhooks: endpoints chosen by callers, and the delivery of events to them."""
