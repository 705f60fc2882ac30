"""The fields of API keys."""

FIELDS = {
    "id", "object", "name", "type", "prefix", "permissions", "allowedIps", "allowedHosts", "rateLimit", "expiresAt",
    "createdAt", "lastUsedAt", "revokedAt",
}  # fmt: skip


def assert_beyond_key(reply, param=None):
    """Assert that a reply refuses what the requesting key may not grant; `param` names the field, if any."""
    assert reply.status_and_code == (403, "insufficient_permissions"), reply
    assert reply.error.get("param") == param
