"""Examples of content for the OpenAPI document."""

from kit.openapi.examples import Operation, example_error, example_outcomes, example_page
from licensing.policies.examples import CREATED, MORE, POLICY_ID, UPDATED

CONTENT_ID = "cnt_01kd9wjm9kepqvj3h1k7c8x2rt"
METADATA: dict[str, object] = {
    "author": "Ada Byron",
    "publishedAt": "2026-01-31",
    "category": "finance",
    "wordCount": 1200,
    "edition": "morning",
}
NEW_CONTENT: dict[str, object] = {
    "externalId": "article-17",
    "title": "Markets in January",
    "type": "article",
    "source": "https://publisher.example/markets-in-january",
    "policyId": POLICY_ID,
    "metadata": METADATA,
    "tags": ["markets", "2026"],
}
CONTENT: dict[str, object] = {
    "id": CONTENT_ID,
    "object": "content",
    **NEW_CONTENT,
    "status": "active",
    "created": CREATED,
    "updated": CREATED,
}
BULK: dict[str, object] = {"items": [NEW_CONTENT, {"id": CONTENT_ID, "status": "archived"}, {"type": "report"}]}
BULK_OUTCOMES = example_outcomes(
    "content",
    (201, CONTENT, None),
    (409, None, example_error("resource_already_exists", "conflict_error", "Row 0 is about the same item.", "id")),
    (422, None, example_error("invalid_request", "validation_error", "This field is required.", "title")),
)
CONTENT_IMPORT: dict[str, object] = {
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
STATS = {"totalRequests": 42, "allowedRequests": 40, "deniedRequests": 2}

OPERATIONS = {
    "GET /v1/content": Operation("listContent", example_page(CONTENT, **MORE)),
    "POST /v1/content": Operation("createContent", CONTENT, NEW_CONTENT, codes=("resource_already_exists",)),
    "POST /v1/content/bulk": Operation("upsertContent", BULK_OUTCOMES, BULK),
    "GET /v1/content/{id}": Operation("getContent", {**CONTENT, "stats": STATS}),
    "PATCH /v1/content/{id}": Operation(
        "updateContent",
        {**CONTENT, "metadata": {**METADATA, "category": "economy"}, "updated": UPDATED, "stats": STATS},
        {"metadata": {"category": "economy"}, "status": "active"},
        codes=("resource_already_exists",),
    ),
    "DELETE /v1/content/{id}": Operation("deleteContent", {"id": CONTENT_ID, "object": "content", "deleted": True}),
}
