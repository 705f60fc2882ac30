"""Examples of imports for webhooks."""

from licensing.policies.examples import CREATED

IMPORT: dict[str, object] = {
    "id": "imp_01kd9wmd4g6s8z1x3c5v7b9n2m",
    "object": "content_import",
    "created": 950,
    "updated": 40,
    "unchanged": 8,
    "superseded": 1,
    "failed": 1,
    "rows": 1000,
    "started": CREATED,
    "finished": CREATED,
}
