"""Figures, charts and terms shared by several sections."""
