"""Those who ask for content."""
