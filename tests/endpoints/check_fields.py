"""The fields of decisions."""

FIELDS = {
    "object", "id", "allowed", "reason", "message", "contentId", "requester", "permission", "permissions", "policyId",
    "policyVersion", "matchedRule", "license", "rateLimit", "charge", "cacheFor", "dryRun", "created",
}  # fmt: skip
