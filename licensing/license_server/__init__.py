"""The licence server: issues licence tokens to licensees (Open License Protocol, RSL 1.0)."""
