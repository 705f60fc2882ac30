"""Policies that are tried before they count: lint, simulation, replay."""
