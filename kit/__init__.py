"""What every part of the service shares: no models, no word of the domain, no import of an app."""
