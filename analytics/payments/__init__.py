"""Payments that requesters made, as statements count them."""
