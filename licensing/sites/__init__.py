"""A publisher's hosts and the policies of their pages."""
