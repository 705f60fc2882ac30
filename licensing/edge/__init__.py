"""Enforcement at the edge: answers to proxies, and documents for crawlers."""
