"""Enforcement at the edge: what proxies ask, and what crawlers are told."""
