"""Exchange rates: read from files, loaded, applied."""
