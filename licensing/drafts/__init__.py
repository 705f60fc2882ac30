"""Testing policies before they take effect: lint, simulation and replay."""
