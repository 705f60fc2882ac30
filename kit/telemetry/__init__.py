"""Telemetry: metrics, logs, traces, and the observation of each request."""
