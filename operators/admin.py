"""Registers every page of the admin; Django imports this module."""

from importlib import import_module

from operators.navigation import PAGES

for page in PAGES:
    if page.module:
        import_module(page.module)
