"""The licence server: licence tokens for those who hold a licence (Open License Protocol, RSL 1.0)."""
