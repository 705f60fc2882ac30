"""What conditions on objects hold of: attributes of the requester, days and hours."""
