"""Conditions on objects: attributes of the requester, and schedules."""
