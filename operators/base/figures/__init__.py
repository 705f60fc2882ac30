"""Figures, charts and terms that pages of several sections show."""
