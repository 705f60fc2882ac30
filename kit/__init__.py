"""Shared machinery: no models, no word of the domain, no import of an app."""
