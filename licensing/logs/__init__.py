"""Imports access logs of web servers and CDNs: decides past requests as a proxy in observe mode would have."""
