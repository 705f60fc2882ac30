"""The hosts that a publisher's pages are served under, and which policy each page has."""
