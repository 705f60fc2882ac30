"""Telemetry: metrics, logs, traces, and the timing of each request."""
