"""The OpenAPI document: schemas, headers, errors and examples that operations share."""
