"""Settings of the OpenAPI document: title, description and tags."""

from kit.version import VERSION

SPECTACULAR: dict[str, object] = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Content Access Licensing API",
    "VERSION": VERSION,
    "DESCRIPTION": (
        "Registers content, keeps the policies that say who may use it, and decides each use.\n\n"
        "Send `Authorization: Bearer <API_KEY>` with every request, and `Idempotency-Key` with a POST that may be "
        "retried. Bodies are JSON objects; a field that a resource does not have is refused, one that the service "
        "sets itself (`id`, `created`, …) is ignored, so that what was read can be sent back. No text may hold "
        "U+0000. Lists take `field=value` and `field[op]=value` filters."
    ),
    "LICENSE": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    "TAGS": [
        {"name": "content", "description": "The items that a publisher owns."},
        {"name": "policies", "description": "Who may use what is linked to them, and on which terms."},
        {"name": "sites", "description": "The hosts whose pages are decided at the edge."},
        {"name": "crawlers", "description": "The crawlers that are known at the edge."},
        {"name": "licenses", "description": "What requesters have been granted, and what it costs."},
        {"name": "requesters", "description": "Whoever decisions are about: customers, readers and crawlers."},
        {"name": "license-clients", "description": "Credentials by which requesters get licence tokens."},
        {"name": "access", "description": "Checks, and the decisions that they left."},
        {"name": "revenue", "description": "The ledger: what was earned and given back."},
        {"name": "wallets", "description": "Credit and quotas that were granted in advance."},
        {"name": "payments", "description": "What requesters paid."},
        {"name": "statements", "description": "The ledger by requester, month and currency."},
        {"name": "analytics", "description": "What was asked for and answered, in figures."},
        {"name": "accounts", "description": "Whom a key speaks for, and what is left of the plan."},
        {"name": "api-keys", "description": "The keys that authenticate callers."},
        {"name": "audit", "description": "Who changed what, and when."},
        {"name": "events", "description": "What happened, as webhooks tell of it."},
        {"name": "webhook-endpoints", "description": "Your endpoints for events, and the deliveries to them."},
        {"name": "webhooks", "description": "Requests that the service sends to your endpoints."},
    ],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "ActorType": "accounts.models.ActorType",
        "ApiKeyPermission": "accounts.keys.permissions.PERMISSIONS",
        "ContentStatus": "licensing.content.models.Status",
        "ContentType": "licensing.policies.facts.ContentType",
        "CrawlerClass": "licensing.edge.crawler_views.CLASSES",
        "Currency": "kit.values.currencies.CURRENCIES",
        "Reason": "licensing.policies.decision.Reason",
        "EntryType": "analytics.models.revenue.EntryType",
        "WalletEntryType": "analytics.wallets.models.WalletEntryType",
        "RefillPeriod": "analytics.wallets.models.Every",
        "GrantKind": "analytics.wallets.models.GrantKind",
        "GrantStatus": "analytics.wallets.models.GRANT_STATES",
        "EventPattern": "accounts.events.types.PATTERNS",
        "EventType": "accounts.events.types.BY_NAME",
        "FaultKind": "kit.values.faults.FaultKind",
        "Identification": "licensing.sites.identification.Identification",
        "KeyType": "accounts.models.KeyType",
        "LicenseStatus": "licensing.licenses.serializers.STATES",
        "OutcomeStatus": "kit.rest.bulk.STATUSES",
        "Mode": "licensing.policies.modes.MODES",
        "KeyRateLimitPeriod": "accounts.keys.rate_limits.PERIODS",
        "RateLimitPeriod": "licensing.policies.rules.PERIODS",
        "RuleAction": "licensing.policies.rules.ACTIONS",
        "UnlistedSigners": "accounts.plans.models.UnlistedSigners",
        "WalletUnit": "analytics.wallets.units.UNITS",
        "WebhookStatus": "accounts.webhooks.models.EndpointStatus",
    },
    "PREPROCESSING_HOOKS": ["kit.rest.openapi.only_v1"],
    "POSTPROCESSING_HOOKS": [
        "kit.rest.openapi.shared_components",
        "kit.rest.deprecated.mark_deprecated",
        "accounts.openapi.add_webhooks",
        "kit.rest.open_replies.open_replies",
        "config.openapi_descriptions.describe",
    ],
    "SERVERS": [{"url": "/", "description": "The service that this document came from."}],
}
