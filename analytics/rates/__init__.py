"""Exchange rates: parsing, loading and conversion."""
