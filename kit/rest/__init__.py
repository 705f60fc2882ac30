"""What every endpoint shares: views, fields, filters, pagination, exports, the OpenAPI document."""
