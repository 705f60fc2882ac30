"""Permissions of keys (docs/reference/api.md, Keys)."""

from accounts.keys.models import ALL

PERMISSIONS = {
    "content:read": "Read content",
    "content:write": "Create, update and delete content",
    "policies:read": "Read policies",
    "policies:write": "Create, update and delete policies",
    "access:check": "Check access",
    "analytics:read": "Read analytics and decisions",
    "webhooks:manage": "Manage webhooks",
    "api_keys:manage": "Manage API keys",
    "licenses:read": "Read licences",
    "licenses:write": "Issue, change and revoke licences",
    "revenue:read": "Read the revenue ledger",
    "revenue:write": "Add to the revenue ledger",
    "audit:read": "Read who changed what and when",
    ALL: "Everything",
}
DEFAULTS = {"secret": [ALL], "public": ["content:read", "policies:read"]}

# Not for public keys, which are on web pages: the log contains operators, addresses and the permissions of keys.
NEVER_PUBLIC = frozenset({"audit:read"})
