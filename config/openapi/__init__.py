"""Settings of the OpenAPI document, and descriptions of fields for all its schemas."""
