"""Fields and bodies of content items."""

import re
from typing import Any

FULL = {
    "externalId": "a-1",
    "title": "On licences",
    "type": "report",
    "source": "https://example.com/reports/1",
    "metadata": {
        "author": "Ada",
        "publishedAt": "2026-01-31",
        "category": "law",
        "tags": ["inner"],
        "wordCount": 1200,
        "edition": "second",
        "pages": 12,
        "score": 4.5,
        "peerReviewed": True,
    },
    "tags": ["outer", "law"],
}
FIELDS = {
    "id", "object", "externalId", "title", "type", "source", "policyId", "metadata", "tags", "status", "created",
    "updated",
}  # fmt: skip
A_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z").fullmatch
OUT_OF_BOUNDS: list[tuple[str, Any, str]] = [
    ("title", "", "title"), ("title", " \t\n ", "title"), ("title", None, "title"), ("title", "x" * 501, "title"),
    ("externalId", "", "externalId"), ("externalId", "x" * 256, "externalId"), ("type", "book", "type"),
    ("type", "Article", "type"), ("source", "https://example.com/" + "x" * 2029, "source"),
    ("source", "ftp://example.com/a", "source"), ("source", "javascript:alert(1)", "source"),
    ("source", "https://", "source"), ("source", "/a/path", "source"), ("source", "https://exa mple.com/", "source"),
    ("source", "https://example.com:99999/", "source"), ("tags", ["x"] * 51, "tags"), ("tags", ["ok", ""], "tags[1]"),
    ("tags", ["ok", "x" * 101], "tags[1]"), ("tags", [None], "tags[0]"),
    ("metadata", {"author": "x" * 256}, "metadata.author"), ("metadata", {"category": "x" * 256}, "metadata.category"),
    ("metadata", {"wordCount": -1}, "metadata.wordCount"),
    ("metadata", {"wordCount": 2_147_483_648}, "metadata.wordCount"),
    ("metadata", {"publishedAt": "2026-02-30"}, "metadata.publishedAt"),
    ("metadata", {"publishedAt": "2026-1-1"}, "metadata.publishedAt"),
    ("metadata", {"publishedAt": "2026-01-01T00:00:00Z"}, "metadata.publishedAt"),
    ("metadata", {"publishedAt": ""}, "metadata.publishedAt"), ("metadata", {"tags": ["x"] * 51}, "metadata.tags"),
    ("metadata", {"tags": ["x" * 101]}, "metadata.tags[0]"),
    ("metadata", {f"key{n}": n for n in range(51)}, "metadata"), ("metadata", {"k" * 65: 1}, f"metadata.{'k' * 65}"),
    ("metadata", {"": 1}, "metadata"), ("metadata", {"a key": 1}, "metadata.a key"),
    ("metadata", {"key": "x" * 501}, "metadata.key"), ("metadata", {"key": []}, "metadata.key"),
    ("metadata", {"key": {"nested": 1}}, "metadata.key"),
]  # fmt: skip


def without_times(body):
    return {name: value for name, value in body.items() if name not in ("updated", "stats")}
