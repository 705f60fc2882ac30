"""Shared building blocks of endpoints: views, fields, filters, pagination, exports, the OpenAPI document."""
