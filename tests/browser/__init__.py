"""An operator's jobs in a real browser, on a real server: from the login to the result."""
