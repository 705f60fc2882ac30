"""The fields of API keys."""

FIELDS = {
    "id", "object", "name", "type", "prefix", "permissions", "allowedIps", "allowedHosts", "rateLimit", "expiresAt",
    "createdAt", "lastUsedAt", "revokedAt",
}  # fmt: skip
