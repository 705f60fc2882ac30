"""Crawlers that reverse DNS confirms."""

SEEKER, ADDRESS = "Seeker/1.0", "8.8.4.4"
SEARCHED = {"action": "allow", "conditions": {"default": True}, "permissions": ["search"]}
