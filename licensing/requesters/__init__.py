"""Requesters: whoever asks for content."""
