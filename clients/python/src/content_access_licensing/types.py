# Shapes: 49c53216467225fd
# Generated. See tests/clients.

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

RequesterId: TypeAlias = str


class AccessFilter(TypedDict):
    """
    Which decisions the endpoint receives; each given list must contain the decision's own value.
    """

    policyIds: NotRequired[list[str]]
    requesterIds: NotRequired[list[RequesterId]]
    reasons: NotRequired[list[str]]


PolicyId: TypeAlias = str


class ActiveRequester(TypedDict):
    id: str
    name: str | None
    requests: int


ActorType: TypeAlias = Literal["command", "key", "operator", "system"]


AddressRange: TypeAlias = str


AddressRanges: TypeAlias = list[AddressRange]


AddressRangesShown: TypeAlias = list[str]


Permission: TypeAlias = str


class PricePerAccess(TypedDict):
    """
    What an access costs whoever holds no licence that the rule allows.
    """

    amount: Decimal | str
    currency: str


AllowedIp: TypeAlias = str


AllowedHost: TypeAlias = str


ApiKeyPermission: TypeAlias = Literal[
    "content:read",
    "content:write",
    "policies:read",
    "policies:write",
    "access:check",
    "analytics:read",
    "webhooks:manage",
    "api_keys:manage",
    "licenses:read",
    "licenses:write",
    "revenue:read",
    "revenue:write",
    "audit:read",
    "*",
]


class AttributeAbsence(TypedDict):
    exists: Literal[False]


class AttributeAbsenceShown(TypedDict):
    exists: bool


class AttributeComparison(TypedDict):
    gte: NotRequired[float]
    gt: NotRequired[float]
    lte: NotRequired[float]
    lt: NotRequired[float]
    exists: NotRequired[Literal[True]]


class AttributeComparisonShown(TypedDict):
    gte: NotRequired[float]
    gt: NotRequired[float]
    lte: NotRequired[float]
    lt: NotRequired[float]
    exists: NotRequired[bool]


AttributeValues: TypeAlias = list[str | float | bool]


class AuditEntry(TypedDict):
    """
    A change. Names and titles are those at the time.
    """

    id: str
    object: str
    action: str
    actorType: str
    actorId: str | None
    actorName: str | None
    resourceType: str
    resourceId: str
    resourceTitle: str
    changes: dict[str, list[Any]]
    requestId: str | None
    address: str | None
    created: str


class BookedAmount(TypedDict):
    currency: str
    amount: Decimal


Tag: TypeAlias = str


class Metadata(TypedDict):
    """
    Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.
    """

    author: NotRequired[str | None]
    publishedAt: NotRequired[str | None]
    category: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]
    wordCount: NotRequired[int | None]


Category: TypeAlias = str


Categories: TypeAlias = list[Category]


class ChargeShown(TypedDict):
    amount: Decimal
    currency: str
    refunded: NotRequired[Decimal]
    refundable: NotRequired[Decimal]


class Metadata1(TypedDict):
    """
    Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.
    """

    author: NotRequired[str | None]
    publishedAt: NotRequired[str | None]
    category: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]
    wordCount: NotRequired[int | None]


class ContentOfTest(TypedDict):
    """
    The item of a test.
    """

    type: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]
    category: NotRequired[str | None]


class Metadata2(TypedDict):
    """
    Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.
    """

    author: NotRequired[str | None]
    publishedAt: NotRequired[str | None]
    category: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]
    wordCount: NotRequired[int | None]


ContentStatus: TypeAlias = Literal["active", "archived"]


ContentType: TypeAlias = Literal["article", "report", "image", "dataset", "video"]


ContentTypes: TypeAlias = list[ContentType]


ContentTypesShown: TypeAlias = list[str]


class Context(TypedDict):
    ip: NotRequired[str | None]
    visitorId: NotRequired[str | None]
    userAgent: NotRequired[str | None]


class ContextOfTest(TypedDict):
    """
    The context of a test's request.
    """

    ip: NotRequired[str | None]
    visitorId: NotRequired[str | None]


class ContextOfTestRequest(TypedDict):
    """
    The context of a test's request.
    """

    ip: NotRequired[str | None]
    visitorId: NotRequired[str | None]


class ContextShown(TypedDict):
    ip: NotRequired[str]
    visitorId: NotRequired[str]
    userAgent: NotRequired[str]


class CrawlsAndReferrals(TypedDict):
    """
    Crawler requests and revenue.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    verified: int
    violations: int
    revenue: list[ChargeShown]
    revenueAtStake: list[ChargeShown]
    referrals: int
    crawlsPerReferral: float | None


class CrawlsOfClass(TypedDict):
    """
    Crawler requests and revenue.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    verified: int
    violations: int
    revenue: list[ChargeShown]
    revenueAtStake: list[ChargeShown]
    crawlerClass: str


class CrawlsOfCrawler(TypedDict):
    """
    Crawler requests and revenue.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    verified: int
    violations: int
    revenue: list[ChargeShown]
    revenueAtStake: list[ChargeShown]
    name: str
    operator: str
    crawlerClass: str


class CrawlsOfDay(TypedDict):
    """
    Crawler requests, by outcome.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    verified: int
    violations: int
    date: str
    name: str


class CrawlsOfOperator(TypedDict):
    """
    Crawler requests and revenue.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    verified: int
    violations: int
    revenue: list[ChargeShown]
    revenueAtStake: list[ChargeShown]
    referrals: int
    crawlsPerReferral: float | None
    operator: str


class CreditAccess(TypedDict):
    """
    Whether a wallet could pay an amount now.
    """

    hasAccess: bool
    balance: Decimal
    available: Decimal


class CreditsShown(TypedDict):
    """
    The wallet that pays for an access and its remaining balance. For a denial: the amounts required and
    available.
    """

    walletId: str
    unit: str
    remaining: NotRequired[Decimal]
    available: NotRequired[Decimal]
    nextRefillAt: NotRequired[str | None]
    required: NotRequired[Decimal]


Currency: TypeAlias = Literal[
    "AED",
    "AFN",
    "ALL",
    "AMD",
    "AOA",
    "ARS",
    "AUD",
    "AWG",
    "AZN",
    "BAM",
    "BBD",
    "BDT",
    "BHD",
    "BIF",
    "BMD",
    "BND",
    "BOB",
    "BOV",
    "BRL",
    "BSD",
    "BTN",
    "BWP",
    "BYN",
    "BZD",
    "CAD",
    "CDF",
    "CHE",
    "CHF",
    "CHW",
    "CLF",
    "CLP",
    "CNY",
    "COP",
    "COU",
    "CRC",
    "CUP",
    "CVE",
    "CZK",
    "DJF",
    "DKK",
    "DOP",
    "DZD",
    "EGP",
    "ERN",
    "ETB",
    "EUR",
    "FJD",
    "FKP",
    "GBP",
    "GEL",
    "GHS",
    "GIP",
    "GMD",
    "GNF",
    "GTQ",
    "GYD",
    "HKD",
    "HNL",
    "HTG",
    "HUF",
    "IDR",
    "ILS",
    "INR",
    "IQD",
    "IRR",
    "ISK",
    "JMD",
    "JOD",
    "JPY",
    "KES",
    "KGS",
    "KHR",
    "KMF",
    "KPW",
    "KRW",
    "KWD",
    "KYD",
    "KZT",
    "LAK",
    "LBP",
    "LKR",
    "LRD",
    "LSL",
    "LYD",
    "MAD",
    "MDL",
    "MGA",
    "MKD",
    "MMK",
    "MNT",
    "MOP",
    "MRU",
    "MUR",
    "MVR",
    "MWK",
    "MXN",
    "MXV",
    "MYR",
    "MZN",
    "NAD",
    "NGN",
    "NIO",
    "NOK",
    "NPR",
    "NZD",
    "OMR",
    "PAB",
    "PEN",
    "PGK",
    "PHP",
    "PKR",
    "PLN",
    "PYG",
    "QAR",
    "RON",
    "RSD",
    "RUB",
    "RWF",
    "SAR",
    "SBD",
    "SCR",
    "SDG",
    "SEK",
    "SGD",
    "SHP",
    "SLE",
    "SOS",
    "SRD",
    "SSP",
    "STN",
    "SVC",
    "SYP",
    "SZL",
    "THB",
    "TJS",
    "TMT",
    "TND",
    "TOP",
    "TRY",
    "TTD",
    "TWD",
    "TZS",
    "UAH",
    "UGX",
    "USD",
    "USN",
    "UYI",
    "UYU",
    "UYW",
    "UZS",
    "VED",
    "VES",
    "VND",
    "VUV",
    "WST",
    "XAD",
    "XAF",
    "XCD",
    "XCG",
    "XOF",
    "XPF",
    "YER",
    "ZAR",
    "ZMW",
    "ZWG",
]


class Deleted(TypedDict):
    id: str
    object: str
    deleted: bool


class DeletedEndpoint(TypedDict):
    id: str
    object: str
    deleted: bool


class DenialReason(TypedDict):
    reason: str
    count: int


class EarningContent(TypedDict):
    id: str
    title: str
    revenue: Decimal


class EdgeWindow(TypedDict):
    """
    One window of the edge quota. Requests over the quota are still answered.
    """

    limit: int
    used: int
    remaining: int
    reset: int


EntryType: TypeAlias = Literal["adjustment", "fee", "license", "usage"]


class Erased(TypedDict):
    id: str
    object: str
    deleted: bool
    pseudonym: str


class Event(TypedDict):
    """
    Something that happened to one of the account's resources.
    """

    id: str
    object: str
    type: str
    created: str
    data: dict[str, Any]
    previous: NotRequired[dict[str, Any]]


EventPattern: TypeAlias = Literal[
    "*",
    "access.*",
    "api_key.*",
    "content.*",
    "grant.*",
    "import.*",
    "license.*",
    "limit.*",
    "payment.*",
    "policy.*",
    "requester.*",
    "revenue.*",
    "wallet.*",
    "webhook_endpoint.*",
    "content.created",
    "content.archived",
    "content.updated",
    "content.deleted",
    "policy.created",
    "policy.updated",
    "policy.rolled_back",
    "policy.deleted",
    "api_key.created",
    "api_key.updated",
    "api_key.rotated",
    "api_key.revoked",
    "api_key.expiring",
    "requester.updated",
    "license.created",
    "license.updated",
    "license.revoked",
    "license.expiring",
    "license.expired",
    "wallet.low",
    "wallet.exhausted",
    "wallet.topped_up",
    "grant.expiring",
    "revenue.adjusted",
    "payment.created",
    "payment.voided",
    "import.finished",
    "access.denied",
    "access.allowed",
    "limit.reached",
    "webhook_endpoint.disabled",
]


EventType: TypeAlias = Literal[
    "access.allowed",
    "access.denied",
    "api_key.created",
    "api_key.expiring",
    "api_key.revoked",
    "api_key.rotated",
    "api_key.updated",
    "content.archived",
    "content.created",
    "content.deleted",
    "content.updated",
    "grant.expiring",
    "import.finished",
    "license.created",
    "license.expired",
    "license.expiring",
    "license.revoked",
    "license.updated",
    "limit.reached",
    "payment.created",
    "payment.voided",
    "ping",
    "policy.created",
    "policy.deleted",
    "policy.rolled_back",
    "policy.updated",
    "requester.updated",
    "revenue.adjusted",
    "wallet.exhausted",
    "wallet.low",
    "wallet.topped_up",
    "webhook_endpoint.disabled",
]


class Evidence(TypedDict):
    """
    A source that states facts of a crawler.
    """

    facts: list[str]
    url: str
    date: str


class ExpectedDecision(TypedDict):
    """
    The expected decision. Omitted members may have any value.
    """

    allowed: bool
    reason: NotRequired[str | None]
    matchedRule: NotRequired[int | None]


class FailedCondition(TypedDict):
    condition: str
    wanted: Any
    saw: Any


class Fee(TypedDict):
    """
    A recurring fee, charged at the start of each period.
    """

    amount: Decimal
    currency: str
    every: str


class FeeRequest(TypedDict):
    """
    A recurring fee, charged at the start of each period.
    """

    amount: Decimal | str
    currency: Currency
    every: Literal["month", "quarter", "year"]


class FieldError(TypedDict):
    """
    What is wrong with one field.
    """

    code: str
    message: str
    param: NotRequired[str]
    kind: NotRequired[str]


class FieldErrorShown(TypedDict):
    """
    A fault of one field.
    """

    code: str
    message: str
    param: NotRequired[str]
    kind: NotRequired[str]


class FindingShown(TypedDict):
    level: str
    code: str
    path: str
    message: str


class FolderShown(TypedDict):
    """
    A folder or a page directly below `url[prefix]`.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    url: str


GrantKind: TypeAlias = Literal["paid", "promotional", "refill", "refund"]


class HeldLicenseOfTest(TypedDict):
    """
    A licence that the service holds for the requester and the item.
    """

    licenseType: str
    startsAt: NotRequired[str | None]
    expiresAt: NotRequired[str | None]


class HeldLicenseOfTestRequest(TypedDict):
    """
    A licence that the service holds for the requester and the item.
    """

    licenseType: str
    startsAt: NotRequired[str | None]
    expiresAt: NotRequired[str | None]


Identification: TypeAlias = Literal[
    "address", "api_key", "license_token", "nothing", "reverse_dns", "signature", "site", "user_agent"
]


class KeyRateLimit(TypedDict):
    """
    At most `requests` with the key per UTC minute, hour or day.
    """

    requests: int
    period: str


KeyRateLimitPeriod: TypeAlias = Literal["minute", "hour", "day"]


class KeyRateLimitRequest(TypedDict):
    """
    At most `requests` with the key per UTC minute, hour or day.
    """

    requests: int
    period: KeyRateLimitPeriod


class KeyTextRequest(TypedDict):
    """
    The full text of a key to find.
    """

    key: str


KeyType: TypeAlias = Literal["secret", "public"]


class LedgerEntry(TypedDict):
    """
    Revenue, or a refund if negative.
    """

    id: str
    object: str
    type: str
    amount: Decimal
    currency: str
    occurredAt: str | None
    licenseId: str | None
    licenseType: str | None
    feeId: str | None
    decisionId: str | None
    contentId: str | None
    contentTitle: str | None
    requesterId: str | None
    requesterName: str | None
    description: str | None
    externalId: str | None
    refunded: Decimal | None
    refundable: Decimal | None
    created: str


ContentId: TypeAlias = str


class LicenseBehind(TypedDict):
    id: str | None
    licenseType: str | None
    expiresAt: str | None
    source: str


class LicenseClient(TypedDict):
    """
    A requester's credentials at the licence server; `id` is the client_id.
    """

    id: str
    object: str
    requesterId: str
    requesterName: str | None
    name: str
    prefix: str
    formerSecretUntil: str | None
    revokedAt: str | None
    lastUsedAt: str | None
    created: str


class LicenseClientRequest(TypedDict):
    """
    A requester's credentials at the licence server; `id` is the client_id.
    """

    requesterId: str
    requesterName: NotRequired[str | None]
    name: NotRequired[str | None]


class LicenseClientWithSecret(TypedDict):
    """
    A requester's credentials at the licence server; `id` is the client_id.
    """

    id: str
    object: str
    requesterId: str
    requesterName: str | None
    name: str
    prefix: str
    formerSecretUntil: str | None
    revokedAt: str | None
    lastUsedAt: str | None
    created: str
    secret: str


LicenseStatus: TypeAlias = Literal["active", "expired", "revoked"]


LicenseType: TypeAlias = str


LicenseTypes: TypeAlias = list[LicenseType]


class Lint(TypedDict):
    """
    Findings about a policy that its author probably did not intend.
    """

    object: str
    findings: list[FindingShown]
    truncated: NotRequired[bool]


class MatchedRule(TypedDict):
    index: int
    priority: int | None
    action: str


class MergeRequest(TypedDict):
    """
    The requester to merge into.
    """

    into: str


Mode: TypeAlias = Literal["disabled", "enforce", "observe"]


class Money(TypedDict):
    """
    An amount in a currency.
    """

    amount: Decimal
    currency: str


class MoneyRequest(TypedDict):
    """
    An amount in a currency.
    """

    amount: Decimal | str
    currency: Currency


class MovedContent(TypedDict):
    id: str
    title: str
    total: int
    allowedToDenied: int
    deniedToAllowed: int


class MovedRequester(TypedDict):
    id: str
    name: str | None
    total: int
    allowedToDenied: int
    deniedToAllowed: int


class ObservedContent(TypedDict):
    id: str
    title: str
    requests: int


class ObservedDenial(TypedDict):
    """
    The denial that enforcing the policy and its site would have produced.
    """

    allowed: bool
    reason: str


class ObservedReason(TypedDict):
    reason: str
    count: int


class ObservedRequester(TypedDict):
    id: str
    name: str | None
    requests: int
    revenueAtStake: list[ChargeShown]


class Offer(TypedDict):
    """
    Access for a price, without a licence.
    """

    licenseType: str | None
    permissions: list[str]
    pricePerAccess: ChargeShown


class OmittedPattern(TypedDict):
    """
    A pattern that everybody may read, but that does not stay open.
    """

    pattern: str
    reason: str


class OutcomeKey(TypedDict):
    """
    A created key with its full text, or a changed key.
    """

    id: str
    object: str
    name: str
    type: str
    prefix: str
    permissions: list[str]
    allowedIps: list[str]
    allowedHosts: list[str]
    rateLimit: KeyRateLimit | None
    expiresAt: str | None
    createdAt: str
    lastUsedAt: str | None
    revokedAt: str | None
    key: NotRequired[str]


class OwnKey(TypedDict):
    """
    The requesting key.
    """

    id: str
    name: str
    type: str
    permissions: list[str]
    expiresAt: str | None


class PageCounts(TypedDict):
    """
    Numbers of requests by answer.
    """

    requests: int
    allowed: int
    observed: int
    denied: int


class PageOrItemRequest(TypedDict):
    """
    A page or an item: exactly one of the two.
    """

    url: NotRequired[str | None]
    contentId: NotRequired[str | None]


class PageVisitor(TypedDict):
    """
    A crawler or another visitor of these pages.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    id: str | None
    name: str | None
    operator: str | None
    crawlerClass: str
    identifiedBy: str
    verified: bool
    lastSeen: str


class PagesOfDay(TypedDict):
    """
    Numbers of requests by answer.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    date: str


class PaginatedAuditEntryList(TypedDict):
    object: str
    data: list[AuditEntry]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedEventList(TypedDict):
    object: str
    data: list[Event]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedLedgerEntryList(TypedDict):
    object: str
    data: list[LedgerEntry]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedLicenseClientList(TypedDict):
    object: str
    data: list[LicenseClient]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PatchedApiKeyChangeRequest(TypedDict):
    """
    The fields of a key that can be changed; type and permissions cannot.
    """

    name: NotRequired[str]
    type: NotRequired[KeyType]
    permissions: NotRequired[list[ApiKeyPermission]]
    allowedIps: NotRequired[list[AllowedIp] | None]
    allowedHosts: NotRequired[list[AllowedHost] | None]
    rateLimit: NotRequired[KeyRateLimitRequest | None]
    expiresAt: NotRequired[str | None]


class Metadata3(TypedDict):
    """
    Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.
    """

    author: NotRequired[str | None]
    publishedAt: NotRequired[str | None]
    category: NotRequired[str | None]
    tags: NotRequired[list[Tag] | None]
    wordCount: NotRequired[int | None]


class PatchedContentRequest(TypedDict):
    """
    A publisher's content item, as the API shows and accepts it.
    """

    externalId: NotRequired[str | None]
    title: NotRequired[str]
    type: NotRequired[ContentType]
    source: NotRequired[str | None]
    policyId: NotRequired[str | None]
    metadata: NotRequired[Metadata3 | None]
    tags: NotRequired[list[Tag] | None]
    status: NotRequired[ContentStatus]


class PatchedLicenseRequest(TypedDict):
    """
    A licence: its type, scope, period and prices.
    """

    requesterId: NotRequired[str]
    requesterName: NotRequired[str | None]
    externalId: NotRequired[str | None]
    licenseType: NotRequired[str]
    contentIds: NotRequired[list[ContentId] | None]
    tags: NotRequired[list[Tag] | None]
    policyIds: NotRequired[list[PolicyId] | None]
    startsAt: NotRequired[str | None]
    expiresAt: NotRequired[str | None]
    price: NotRequired[MoneyRequest | None]
    pricePerAccess: NotRequired[MoneyRequest | None]
    fee: NotRequired[FeeRequest | None]
    metadata: NotRequired[dict[str, str | float | bool | None]]


class PatchedRequesterProfileChangeRequest(TypedDict):
    """
    Changes of a requester. An `id` in the body is ignored.
    """

    name: NotRequired[str | None]
    email: NotRequired[str | None]
    notes: NotRequired[str | None]
    metadata: NotRequired[dict[str, str | float | bool | None]]


Alias: TypeAlias = str


class PayingRequester(TypedDict):
    id: str
    name: str | None
    revenue: Decimal


class Payment(TypedDict):
    """
    Money that a requester paid, or was given back.
    """

    id: str
    object: str
    requesterId: str
    requesterName: str | None
    kind: str
    amount: Decimal
    currency: str
    receivedAt: str | None
    externalId: str | None
    note: str | None
    grantId: str | None
    voidedAt: str | None
    voidReason: str | None
    created: str


class PaymentRequest(TypedDict):
    """
    Money that a requester paid, or was given back.
    """

    requesterId: str
    kind: NotRequired[Literal["payment", "payout"]]
    amount: Decimal | str
    currency: Currency
    receivedAt: NotRequired[str | None]
    externalId: NotRequired[str | None]
    note: NotRequired[str | None]


Permissions: TypeAlias = list[Permission]


PermissionsShown: TypeAlias = list[str]


class PortalSession(TypedDict):
    """
    A link with which a requester reads its own licences, credit and statements.
    """

    object: str
    requesterId: str
    scopes: list[str]
    returnUrl: str | None
    url: str
    expiresAt: str


class PortalSessionRequest(TypedDict):
    """
    A link with which a requester reads its own licences, credit and statements.
    """

    scopes: NotRequired[list[Literal["licenses", "wallets", "statements"]] | None]
    returnUrl: NotRequired[str | None]


class Price(TypedDict):
    """
    An amount above 0 in a currency.
    """

    amount: Decimal
    currency: str


class PriceRequest(TypedDict):
    """
    An amount above 0 in a currency.
    """

    amount: Decimal | str
    currency: Currency


class ProxyConfig(TypedDict):
    """
    The file for a site's proxy.
    """

    object: str
    siteId: str
    proxy: str
    fileName: str
    content: str
    openPatterns: list[str]
    omitted: list[OmittedPattern]


RateLimitPeriod: TypeAlias = Literal["second", "minute", "hour", "day", "week", "month"]


class RateLimitShown(TypedDict):
    """
    How often the rule allows, for each requester or visitor.
    """

    requests: int
    period: str
    per: NotRequired[str]


Reason: TypeAlias = Literal[
    "content_archived",
    "credits_exhausted",
    "host_not_allowed",
    "license_expired",
    "no_license",
    "no_policy",
    "permission_not_granted",
    "policy_denied",
    "quota_exceeded",
    "rate_limit_exceeded",
]


class ReasonCount(TypedDict):
    reason: str
    before: int
    after: int


class RecoveredEvent(TypedDict):
    """
    The first or the last event of a recovery.
    """

    id: str
    type: str
    created: str


class RecoveryRequest(TypedDict):
    """
    Which events to send again.
    """

    since: NotRequired[str | None]
    dryRun: NotRequired[bool | None]


class RedeliveryRequest(TypedDict):
    """
    The endpoint that gets the event.
    """

    webhookId: str


class ReferrerShown(TypedDict):
    """
    A referring host of an AI or search service.
    """

    host: str
    name: str | None
    operator: str | None
    kind: str | None
    referrals: int


RefillPeriod: TypeAlias = Literal["day", "week", "month", "year"]


class RefundRequest(TypedDict):
    """
    A refund of a charge, named by exactly one of `entryId`, `licenseId` and `decisionId`.
    """

    entryId: NotRequired[str | None]
    licenseId: NotRequired[str | None]
    decisionId: NotRequired[str | None]
    amount: NotRequired[Decimal | str | None]
    reason: NotRequired[str | None]
    externalId: NotRequired[str | None]


class Requester(TypedDict):
    id: str
    name: NotRequired[str | None]
    attributes: NotRequired[dict[str, str | float | bool]]
    licenseType: NotRequired[str | None]
    hasValidLicense: NotRequired[bool | None]


RequesterIds: TypeAlias = list[RequesterId]


class RequesterOfTest(TypedDict):
    """
    The requester of a test. `licenses` that have started override the caller's claims, as in a check.
    """

    id: str
    licenseType: NotRequired[str | None]
    hasValidLicense: NotRequired[bool | None]
    licenses: NotRequired[list[HeldLicenseOfTest] | None]
    attributes: NotRequired[dict[str, Any] | None]


class RequesterOfTestRequest(TypedDict):
    """
    The requester of a test. `licenses` that have started override the caller's claims, as in a check.
    """

    id: str
    licenseType: NotRequired[str | None]
    hasValidLicense: NotRequired[bool | None]
    licenses: NotRequired[list[HeldLicenseOfTestRequest] | None]
    attributes: NotRequired[dict[str, str | float | bool]]


class RequesterProfileRequest(TypedDict):
    """
    Whoever decisions are about: a customer, an organisation, a reader or a crawler, by your own id.
    """

    id: str
    name: NotRequired[str | None]
    email: NotRequired[str | None]
    notes: NotRequired[str | None]
    metadata: NotRequired[dict[str, str | float | bool | None]]


class RequesterShown(TypedDict):
    """
    The requester of a decision. Recorded decisions include the facts that the caller sent.
    """

    id: str
    name: str | None
    attributes: NotRequired[dict[str, str | float | bool]]


class RequesterStats(TypedDict):
    """
    Counts of the requester's decisions.
    """

    allowed: int
    denied: int
    lastSeenAt: str | None


class RevenueBucket(TypedDict):
    date: str
    revenue: Decimal


class RevenueSummary(TypedDict):
    total: Decimal
    currency: str
    changePercent: Decimal | None
    projectedMonthly: Decimal


class RollbackRequest(TypedDict):
    """
    A former version of the policy.
    """

    version: int


class Rollover(TypedDict):
    """
    Unused credit of a refill that is kept at the next one: at most `max`, and at least `min`.
    """

    min: Decimal
    max: Decimal


class RolloverRequest(TypedDict):
    """
    Unused credit of a refill that is kept at the next one: at most `max`, and at least `min`.
    """

    min: NotRequired[Decimal | str | None]
    max: NotRequired[Decimal | str | None]


class RotationRequest(TypedDict):
    """
    How long the old key stays valid.
    """

    overlapSeconds: NotRequired[int | None]


RuleAction: TypeAlias = Literal["allow", "deny"]


class RuleRateLimit(TypedDict):
    requests: int
    period: str
    remaining: int
    reset: int
    retryAfter: int | None


class Secret(TypedDict):
    """
    A URL that receives the account's events.
    """

    id: str
    object: str
    url: str
    events: list[str]
    description: str | None
    accessFilter: AccessFilter | None
    status: str
    disabledReason: str | None
    headerNames: list[str]
    failingSince: str | None
    created: str
    updated: str
    secret: str


class SecretRotationRequest(TypedDict):
    """
    The body of a secret rotation.
    """

    overlapSeconds: NotRequired[int | None]


class SentEvent(TypedDict):
    """
    An event as endpoints get it.
    """

    id: str
    object: str
    type: str
    created: str
    data: dict[str, Any]
    previous: NotRequired[dict[str, Any]]
    timestamp: str


class SimulatedVerdict(TypedDict):
    allowed: bool
    reason: str | None
    matchedRule: int | None


SiteAsk: TypeAlias = Literal["crawlers", "everyone"]


class SiteRule(TypedDict):
    """
    A path pattern and the policy of its pages.
    """

    pattern: str
    policyId: str | None


class SiteRuleRequest(TypedDict):
    """
    A path pattern and the policy of its pages.
    """

    pattern: str
    policyId: NotRequired[str | None]


class StatementCredits(TypedDict):
    """
    Changes in the requester's wallets of this currency.
    """

    opening: Decimal
    granted: Decimal
    spent: Decimal
    expired: Decimal
    refunded: Decimal
    closing: Decimal


class StatementLine(TypedDict):
    """
    A licence's price, a fee, an adjustment, or all charges of the month for one licence and item.
    """

    id: str
    object: str
    type: str
    amount: Decimal
    currency: str
    decisions: int
    licenseId: str | None
    licenseType: str | None
    contentId: str | None
    contentTitle: str | None
    description: str | None
    externalId: str | None
    occurredAt: str
    created: str
    latest: str


class StatementPayment(TypedDict):
    """
    A payment, payout or void that a statement counts.
    """

    id: str
    object: str
    kind: str
    amount: Decimal
    counted: Decimal
    currency: str
    receivedAt: str
    externalId: str | None
    grantId: str | None
    created: str
    voidedAt: str | None


class Stats(TypedDict):
    """
    Numbers of access decisions about the item.
    """

    totalRequests: int
    allowedRequests: int
    deniedRequests: int


Tags: TypeAlias = list[Tag]


class Threshold(TypedDict):
    """
    A balance that sends `wallet.low`: a `value`, or `percent` of the balance after the latest grant.
    """

    value: NotRequired[Decimal]
    percent: NotRequired[int]


class ThresholdRequest(TypedDict):
    """
    A balance that sends `wallet.low`: a `value`, or `percent` of the balance after the latest grant.
    """

    value: NotRequired[Decimal | str | None]
    percent: NotRequired[int | None]


class TraceStep(TypedDict):
    index: int
    priority: int | None
    action: str
    matched: bool
    decisive: bool
    failed: FailedCondition | None


class UnconvertedAmount(TypedDict):
    currency: str
    amount: Decimal
    entries: int


UnlistedSigners: TypeAlias = Literal["pay", "deny"]


class UsageBucket(TypedDict):
    date: str
    requests: int
    allowed: int
    denied: int


class UsageSummary(TypedDict):
    totalRequests: int
    allowed: int
    denied: int
    uniqueRequesters: int
    uniqueContent: int


class UsedContent(TypedDict):
    id: str
    title: str | None
    requests: int


class Verdict(TypedDict):
    allowed: bool
    reason: str | None


class Verification(TypedDict):
    """
    How to verify the host: publish `record` in one of two places.
    """

    record: str
    url: str
    dnsName: str


class VisitCounts(TypedDict):
    """
    Numbers of visits by answer.
    """

    crawlerClass: str
    identifiedBy: str
    verified: bool
    allowed: int
    observed: int
    denied: int
    lastSeen: str


VisitorAddresses: TypeAlias = Literal["truncated", "full"]


class VisitorOfPage(TypedDict):
    id: str | None
    name: str | None
    requests: int


class VisitorShown(TypedDict):
    """
    Visits of one visitor, with the requester that its decisions count for.
    """

    crawlerClass: str
    identifiedBy: str
    verified: bool
    allowed: int
    observed: int
    denied: int
    lastSeen: str
    id: str | None
    name: str | None


class VoidRequest(TypedDict):
    """
    Why a payment is voided.
    """

    reason: str


class WalletEntry(TypedDict):
    """
    A change of a wallet's balance.
    """

    id: str
    object: str
    walletId: str
    type: str
    amount: Decimal
    grantId: str | None
    decisionId: str | None
    created: str


WalletUnit: TypeAlias = Literal[
    "access",
    "AED",
    "AFN",
    "ALL",
    "AMD",
    "AOA",
    "ARS",
    "AUD",
    "AWG",
    "AZN",
    "BAM",
    "BBD",
    "BDT",
    "BHD",
    "BIF",
    "BMD",
    "BND",
    "BOB",
    "BOV",
    "BRL",
    "BSD",
    "BTN",
    "BWP",
    "BYN",
    "BZD",
    "CAD",
    "CDF",
    "CHE",
    "CHF",
    "CHW",
    "CLF",
    "CLP",
    "CNY",
    "COP",
    "COU",
    "CRC",
    "CUP",
    "CVE",
    "CZK",
    "DJF",
    "DKK",
    "DOP",
    "DZD",
    "EGP",
    "ERN",
    "ETB",
    "EUR",
    "FJD",
    "FKP",
    "GBP",
    "GEL",
    "GHS",
    "GIP",
    "GMD",
    "GNF",
    "GTQ",
    "GYD",
    "HKD",
    "HNL",
    "HTG",
    "HUF",
    "IDR",
    "ILS",
    "INR",
    "IQD",
    "IRR",
    "ISK",
    "JMD",
    "JOD",
    "JPY",
    "KES",
    "KGS",
    "KHR",
    "KMF",
    "KPW",
    "KRW",
    "KWD",
    "KYD",
    "KZT",
    "LAK",
    "LBP",
    "LKR",
    "LRD",
    "LSL",
    "LYD",
    "MAD",
    "MDL",
    "MGA",
    "MKD",
    "MMK",
    "MNT",
    "MOP",
    "MRU",
    "MUR",
    "MVR",
    "MWK",
    "MXN",
    "MXV",
    "MYR",
    "MZN",
    "NAD",
    "NGN",
    "NIO",
    "NOK",
    "NPR",
    "NZD",
    "OMR",
    "PAB",
    "PEN",
    "PGK",
    "PHP",
    "PKR",
    "PLN",
    "PYG",
    "QAR",
    "RON",
    "RSD",
    "RUB",
    "RWF",
    "SAR",
    "SBD",
    "SCR",
    "SDG",
    "SEK",
    "SGD",
    "SHP",
    "SLE",
    "SOS",
    "SRD",
    "SSP",
    "STN",
    "SVC",
    "SYP",
    "SZL",
    "THB",
    "TJS",
    "TMT",
    "TND",
    "TOP",
    "TRY",
    "TTD",
    "TWD",
    "TZS",
    "UAH",
    "UGX",
    "USD",
    "USN",
    "UYI",
    "UYU",
    "UYW",
    "UZS",
    "VED",
    "VES",
    "VND",
    "VUV",
    "WST",
    "XAD",
    "XAF",
    "XCD",
    "XCG",
    "XOF",
    "XPF",
    "YER",
    "ZAR",
    "ZMW",
    "ZWG",
]


class WebhookAttempt(TypedDict):
    """
    One attempt to deliver an event.
    """

    id: str
    object: str
    webhookId: str
    eventId: str
    eventType: str
    attempt: int
    succeeded: bool
    status: int | None
    error: str | None
    response: str
    durationMs: int
    nextAttempt: str | None
    created: str


class WebhookEndpoint(TypedDict):
    """
    A URL that receives the account's events.
    """

    id: str
    object: str
    url: str
    events: list[str]
    description: str | None
    accessFilter: AccessFilter | None
    status: str
    disabledReason: str | None
    headerNames: list[str]
    failingSince: str | None
    created: str
    updated: str


WebhookStatus: TypeAlias = Literal["enabled", "disabled"]


Weekday: TypeAlias = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


Weekdays: TypeAlias = list[Weekday]


WeekdaysShown: TypeAlias = list[str]


class Window(TypedDict):
    """
    A window of the plan: the UTC minute or day.
    """

    limit: int
    used: int
    remaining: int
    reset: int


class AccessFilterRequest(TypedDict):
    """
    Which decisions the endpoint receives; each given list must contain the decision's own value.
    """

    policyIds: NotRequired[list[PolicyId] | None]
    requesterIds: NotRequired[list[RequesterId] | None]
    reasons: NotRequired[list[Reason] | None]


class AccessOffer(TypedDict):
    """
    The price of access now, and the policy's offers.
    """

    object: str
    url: str | None
    contentId: str
    requesterId: str | None
    permission: str | None
    allowed: bool
    reason: str | None
    charge: ChargeShown | None
    policyId: str | None
    policyVersion: int | None
    offers: list[Offer]
    credits: NotRequired[CreditsShown]


class AdjustmentRequest(TypedDict):
    """
    An adjustment to add.
    """

    amount: Decimal | str
    currency: Currency
    occurredAt: NotRequired[str | None]
    licenseId: NotRequired[str | None]
    licenseType: NotRequired[str | None]
    feeId: NotRequired[str | None]
    decisionId: NotRequired[str | None]
    contentId: NotRequired[str | None]
    requesterId: NotRequired[str | None]
    description: NotRequired[str | None]
    externalId: NotRequired[str | None]


class ApiKey(TypedDict):
    """
    An API key. Its full text, `key`, is only in the reply that creates it.
    """

    id: str
    object: str
    name: str
    type: str
    prefix: str
    permissions: list[str]
    allowedIps: list[str]
    allowedHosts: list[str]
    rateLimit: KeyRateLimit | None
    expiresAt: str | None
    createdAt: str
    lastUsedAt: str | None
    revokedAt: str | None


class ApiKeyBulkRowRequest(TypedDict):
    """
    A key to create, or changes to the key with this `id`.
    """

    id: NotRequired[str | None]
    name: NotRequired[str]
    type: NotRequired[KeyType]
    permissions: NotRequired[list[ApiKeyPermission] | None]
    allowedIps: NotRequired[list[AllowedIp] | None]
    allowedHosts: NotRequired[list[AllowedHost] | None]
    rateLimit: NotRequired[KeyRateLimitRequest | None]
    expiresAt: NotRequired[str | None]


class ApiKeyRequest(TypedDict):
    """
    An API key. Its full text, `key`, is only in the reply that creates it.
    """

    name: str
    type: KeyType
    permissions: NotRequired[list[ApiKeyPermission] | None]
    allowedIps: NotRequired[list[AllowedIp] | None]
    allowedHosts: NotRequired[list[AllowedHost] | None]
    rateLimit: NotRequired[KeyRateLimitRequest | None]
    expiresAt: NotRequired[str | None]


class BulkRowRequest(TypedDict):
    """
    A row of a bulk request: a new item, or changes to the item with this `id` or `externalId`.
    """

    id: NotRequired[str | None]
    externalId: NotRequired[str | None]
    title: NotRequired[str]
    type: NotRequired[ContentType]
    source: NotRequired[str | None]
    policyId: NotRequired[str | None]
    metadata: NotRequired[Metadata | None]
    tags: NotRequired[list[Tag] | None]
    status: NotRequired[ContentStatus]


class ChangedDecision(TypedDict):
    decisionId: str
    contentId: str
    requesterId: str
    created: str
    before: Verdict
    after: SimulatedVerdict


class ContentOfTestRequest(TypedDict):
    """
    The item of a test.
    """

    type: NotRequired[ContentType | None]
    tags: NotRequired[list[Tag] | None]
    category: NotRequired[str | None]


class ContentRequest(TypedDict):
    """
    A publisher's content item, as the API shows and accepts it.
    """

    externalId: NotRequired[str | None]
    title: str
    type: NotRequired[ContentType]
    source: NotRequired[str | None]
    policyId: NotRequired[str | None]
    metadata: NotRequired[Metadata2 | None]
    tags: NotRequired[list[Tag] | None]
    status: NotRequired[ContentStatus]


class Crawler(TypedDict):
    """
    A known crawler, recognised by its User-Agent and verified by address, reverse DNS or signature.
    """

    object: str
    name: str
    crawlerClass: str
    operator: str
    kind: str
    userAgent: str | None
    robotsToken: str | None
    requesterId: str
    addresses: list[str]
    hosts: list[str]
    sources: list[str]
    addressLists: list[str]
    evidence: list[Evidence]
    signatureAgent: str | None


class CrawlerReportShown(TypedDict):
    """
    Crawler requests and revenue at the edge, and the readers that crawler operators sent.
    """

    object: str
    siteId: str | None
    startDate: str
    endDate: str
    truncated: bool
    summary: CrawlsAndReferrals
    timeSeries: list[CrawlsOfDay]
    byClass: list[CrawlsOfClass]
    byOperator: list[CrawlsOfOperator]
    byCrawler: list[CrawlsOfCrawler]
    referrers: list[ReferrerShown]


class CrawlerTable(TypedDict):
    """
    The table of known crawlers.
    """

    object: str
    date: str
    data: list[Crawler]


class CreatedApiKey(TypedDict):
    """
    An API key. Its full text, `key`, is only in the reply that creates it.
    """

    id: str
    object: str
    name: str
    type: str
    prefix: str
    permissions: list[str]
    allowedIps: list[str]
    allowedHosts: list[str]
    rateLimit: KeyRateLimit | None
    expiresAt: str | None
    createdAt: str
    lastUsedAt: str | None
    revokedAt: str | None
    key: str


class Decision(TypedDict):
    """
    An access decision and its reasons.
    """

    object: str
    id: str | None
    allowed: bool
    reason: str | None
    message: str | None
    contentId: str
    requester: RequesterShown
    permission: str | None
    permissions: list[str]
    policyId: str | None
    policyVersion: int | None
    matchedRule: MatchedRule | None
    license: LicenseBehind | None
    rateLimit: RuleRateLimit | None
    charge: ChargeShown | None
    credits: NotRequired[CreditsShown]
    cacheFor: int
    dryRun: bool
    created: str
    context: NotRequired[ContextShown]
    keyId: NotRequired[str | None]
    url: NotRequired[str]
    siteId: NotRequired[str | None]
    identifiedBy: NotRequired[str]
    referrer: NotRequired[str | None]
    imported: NotRequired[bool]
    observed: NotRequired[ObservedDenial]
    token: NotRequired[str]
    trace: NotRequired[list[TraceStep]]
    traceTruncated: NotRequired[bool]


class EdgeLimits(TypedDict):
    """
    The plan's quota of proxy requests, and its use. Requests over the quota are still answered.
    """

    minute: EdgeWindow
    day: EdgeWindow


class ErrorDetail(TypedDict):
    """
    What is wrong.
    """

    code: str
    message: str
    type: str
    docUrl: NotRequired[str]
    param: NotRequired[str]
    kind: NotRequired[str]
    retryAfter: NotRequired[int]
    errors: NotRequired[list[FieldError]]


class ErrorShown(TypedDict):
    """
    The error of one part of a request that succeeded as a whole.
    """

    code: str
    message: str
    type: str
    docUrl: NotRequired[str]
    param: NotRequired[str]
    kind: NotRequired[str]
    retryAfter: NotRequired[int]
    errors: NotRequired[list[FieldErrorShown]]


class ExpectedDecisionRequest(TypedDict):
    """
    The expected decision. Omitted members may have any value.
    """

    allowed: bool
    reason: NotRequired[Reason | None]
    matchedRule: NotRequired[int | None]


class Grant(TypedDict):
    """
    Credit that was added to a wallet.
    """

    id: str
    object: str
    walletId: str
    amount: Decimal
    remaining: Decimal
    kind: str
    priority: int
    status: str
    effectiveAt: str | None
    expiresAt: str | None
    externalId: str | None
    paid: Price | None
    voidedAt: str | None
    created: str


class GrantRequest(TypedDict):
    """
    Credit that was added to a wallet.
    """

    amount: Decimal | str
    kind: NotRequired[GrantKind]
    priority: NotRequired[int | None]
    effectiveAt: NotRequired[str | None]
    expiresAt: NotRequired[str | None]
    externalId: NotRequired[str | None]
    paid: NotRequired[PriceRequest | None]


class License(TypedDict):
    """
    A licence: its type, scope, period and prices.
    """

    id: str
    object: str
    requesterId: str
    requesterName: str | None
    externalId: str | None
    licenseType: str
    contentIds: list[ContentId]
    tags: list[Tag]
    policyIds: list[PolicyId]
    startsAt: str
    expiresAt: str | None
    price: Money | None
    pricePerAccess: Money | None
    fee: Fee | None
    nextFeeAt: str | None
    metadata: dict[str, str | float | bool | None]
    status: str
    revokedAt: str | None
    created: str
    updated: str


class LicenseBulkOutcome(TypedDict):
    """
    The outcome of a row.
    """

    index: int
    status: int
    license: License | None
    error: ErrorShown | None


class LicenseBulkOutcomes(TypedDict):
    data: list[LicenseBulkOutcome]
    object: str
    hasMore: bool
    totalCount: int


class LicenseBulkRowRequest(TypedDict):
    """
    A licence to issue, or changes of the one named by `id` or `externalId`.
    """

    id: NotRequired[str | None]
    requesterId: NotRequired[str]
    requesterName: NotRequired[str | None]
    externalId: NotRequired[str | None]
    licenseType: NotRequired[str]
    contentIds: NotRequired[list[ContentId] | None]
    tags: NotRequired[list[Tag] | None]
    policyIds: NotRequired[list[PolicyId] | None]
    startsAt: NotRequired[str | None]
    expiresAt: NotRequired[str | None]
    price: NotRequired[MoneyRequest | None]
    pricePerAccess: NotRequired[MoneyRequest | None]
    fee: NotRequired[FeeRequest | None]
    metadata: NotRequired[dict[str, str | float | bool | None]]


class LicenseRequest(TypedDict):
    """
    A licence: its type, scope, period and prices.
    """

    requesterId: str
    requesterName: NotRequired[str | None]
    externalId: NotRequired[str | None]
    licenseType: str
    contentIds: NotRequired[list[ContentId] | None]
    tags: NotRequired[list[Tag] | None]
    policyIds: NotRequired[list[PolicyId] | None]
    startsAt: NotRequired[str | None]
    expiresAt: NotRequired[str | None]
    price: NotRequired[MoneyRequest | None]
    pricePerAccess: NotRequired[MoneyRequest | None]
    fee: NotRequired[FeeRequest | None]
    metadata: NotRequired[dict[str, str | float | bool | None]]


class Limits(TypedDict):
    """
    The plan's limits and their use.
    """

    minute: Window
    day: Window


class ObservedReport(TypedDict):
    """
    Access that would have been refused if denials were enforced.
    """

    object: str
    siteId: str | None
    startDate: str
    endDate: str
    total: int
    truncated: bool
    byReason: list[ObservedReason]
    byRequester: list[ObservedRequester]
    byContent: list[ObservedContent]
    revenueAtStake: list[ChargeShown]


class OfferBatchRequest(TypedDict):
    """
    Pages and items, and the requester whose licences apply.
    """

    items: list[PageOrItemRequest]
    requesterId: NotRequired[str | None]
    permission: NotRequired[str | None]


class OwnAccount(TypedDict):
    """
    The account of the requesting key. Public keys do not see how much of the plan is used.
    """

    id: str
    object: str
    name: str
    plan: str
    limits: NotRequired[Limits]
    edgeLimits: NotRequired[EdgeLimits]
    unknownHost: str
    unlistedSigners: str
    visitorAddresses: str
    timeZone: str
    currency: str
    key: OwnKey
    created: str


class PageShown(TypedDict):
    """
    A page with the visitors that requested it most.
    """

    requests: int
    allowed: int
    observed: int
    denied: int
    url: str | None
    lastSeen: str
    visitors: list[VisitorOfPage]


class PaginatedApiKeyList(TypedDict):
    object: str
    data: list[ApiKey]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedDecisionList(TypedDict):
    object: str
    data: list[Decision]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedGrantList(TypedDict):
    object: str
    data: list[Grant]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedLicenseList(TypedDict):
    object: str
    data: list[License]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedPaymentList(TypedDict):
    object: str
    data: list[Payment]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedStatementLineList(TypedDict):
    object: str
    data: list[StatementLine]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedStatementPaymentList(TypedDict):
    object: str
    data: list[StatementPayment]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedWalletEntryList(TypedDict):
    object: str
    data: list[WalletEntry]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedWebhookAttemptList(TypedDict):
    object: str
    data: list[WebhookAttempt]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedWebhookEndpointList(TypedDict):
    object: str
    data: list[WebhookEndpoint]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PatchedAccountChangeRequest(TypedDict):
    """
    The account fields that its keys can change.
    """

    unknownHost: NotRequired[RuleAction | None]
    unlistedSigners: NotRequired[UnlistedSigners]
    visitorAddresses: NotRequired[VisitorAddresses]
    timeZone: NotRequired[str | None]
    currency: NotRequired[Currency]


class PatchedSiteRequest(TypedDict):
    """
    A host whose pages are decided at the edge, as the API shows and accepts it.
    """

    host: NotRequired[str]
    aliases: NotRequired[list[Alias] | None]
    name: NotRequired[str | None]
    refusalMessage: NotRequired[str | None]
    linkUrl: NotRequired[str | None]
    linkLabel: NotRequired[str | None]
    mode: NotRequired[Mode]
    unknown: NotRequired[RuleAction]
    ask: NotRequired[SiteAsk]
    robotsTxt: NotRequired[str | None]
    rules: NotRequired[list[SiteRuleRequest] | None]


class PatchedWebhookEndpointRequest(TypedDict):
    """
    A URL that receives the account's events.
    """

    url: NotRequired[str]
    events: NotRequired[list[EventPattern] | None]
    description: NotRequired[str | None]
    accessFilter: NotRequired[AccessFilterRequest | None]
    status: NotRequired[WebhookStatus]
    headers: NotRequired[dict[str, str]]


class PolicyTest(TypedDict):
    """
    An example request with its expected decision, run before each version is stored.
    """

    name: NotRequired[str | None]
    requester: RequesterOfTest
    content: NotRequired[ContentOfTest | None]
    permission: NotRequired[str | None]
    at: NotRequired[str | None]
    expect: ExpectedDecision
    context: NotRequired[ContextOfTest | None]


class PolicyTestRequest(TypedDict):
    """
    An example request with its expected decision, run before each version is stored.
    """

    name: NotRequired[str | None]
    requester: RequesterOfTestRequest
    content: NotRequired[ContentOfTestRequest | None]
    permission: NotRequired[str | None]
    at: NotRequired[str | None]
    expect: ExpectedDecisionRequest
    context: NotRequired[ContextOfTestRequest | None]


class RateLimit(TypedDict):
    """
    How often the rule allows, for each requester or visitor.
    """

    requests: int
    period: RateLimitPeriod
    per: NotRequired[Literal["requester", "visitor"]]


class Recovered(TypedDict):
    """
    The events that a recovery sends again.
    """

    object: str
    webhookId: str
    since: str | None
    dryRun: bool
    events: int
    firstEvent: RecoveredEvent | None
    lastEvent: RecoveredEvent | None


class Refill(TypedDict):
    """
    Credit that is added each period; the rest expires with the period, except what rolls over.
    """

    amount: Decimal
    every: str
    anchor: str
    rollover: Rollover


class RefillRequest(TypedDict):
    """
    Credit that is added each period; the rest expires with the period, except what rolls over.
    """

    amount: Decimal | str
    every: RefillPeriod
    anchor: NotRequired[str | None]
    rollover: NotRequired[RolloverRequest | None]


class RequesterProfile(TypedDict):
    """
    Whoever decisions are about: a customer, an organisation, a reader or a crawler, by your own id.
    """

    id: str
    object: str
    name: str | None
    email: str | None
    notes: str | None
    metadata: dict[str, str | float | bool | None]
    mergedInto: NotRequired[str]
    created: str
    updated: str | None
    stats: NotRequired[RequesterStats]


class RevenueReport(TypedDict):
    """
    Amounts are in the summary's currency, each rounded separately (half to even) to its minor unit.

    `byCurrency` and `unconverted` have exact amounts as booked.
    """

    summary: RevenueSummary
    timeSeries: list[RevenueBucket]
    byLicenseType: dict[str, Decimal]
    byRequester: list[PayingRequester]
    byContent: list[EarningContent]
    byCurrency: list[BookedAmount]
    unconverted: list[UnconvertedAmount]


Schedule = TypedDict(
    "Schedule",
    {
        "days": NotRequired[Weekday | Weekdays],
        "from": NotRequired[str],
        "to": NotRequired[str],
        "timeZone": str,
    },
)


ScheduleShown = TypedDict(
    "ScheduleShown",
    {
        "days": NotRequired[str | WeekdaysShown],
        "from": NotRequired[str],
        "to": NotRequired[str],
        "timeZone": str,
    },
)


class Simulation(TypedDict):
    """
    How a policy would have decided recorded checks.
    """

    object: str
    policyId: str
    policyVersion: int | None
    startDate: str
    endDate: str
    since: str | None
    truncated: bool
    total: int
    unchanged: int
    allowedToDenied: int
    deniedToAllowed: int
    reasonChanged: int
    byReason: list[ReasonCount]
    byRequester: list[MovedRequester]
    byContent: list[MovedContent]
    revenueAtStake: list[Money]
    examples: list[ChangedDecision]


class Site(TypedDict):
    """
    A host whose pages are decided at the edge, as the API shows and accepts it.
    """

    id: str
    object: str
    host: str
    aliases: list[str]
    name: str | None
    refusalMessage: str | None
    linkUrl: str | None
    linkLabel: str | None
    mode: str
    unknown: str
    ask: str
    robotsTxt: NotRequired[str | None]
    rules: list[SiteRule]
    verifiedAt: str | None
    verification: Verification
    created: str
    updated: str
    uncoveredHosts: NotRequired[list[str]]
    proxyFileChanged: NotRequired[bool]


class SiteRequest(TypedDict):
    """
    A host whose pages are decided at the edge, as the API shows and accepts it.
    """

    host: str
    aliases: NotRequired[list[Alias] | None]
    name: NotRequired[str | None]
    refusalMessage: NotRequired[str | None]
    linkUrl: NotRequired[str | None]
    linkLabel: NotRequired[str | None]
    mode: NotRequired[Mode]
    unknown: NotRequired[RuleAction]
    ask: NotRequired[SiteAsk]
    robotsTxt: NotRequired[str | None]
    rules: NotRequired[list[SiteRuleRequest] | None]


class Statement(TypedDict):
    """
    A requester's charges, payments and credit movements of one month, in one currency.
    """

    id: str
    object: str
    requesterId: str | None
    requesterName: str | None
    month: str
    currency: str
    status: str
    opening: Decimal
    licenses: Decimal
    fees: Decimal
    usage: Decimal
    adjustments: Decimal
    total: Decimal
    charges: Decimal
    refunds: Decimal
    payments: Decimal
    payouts: Decimal
    paidForCredit: Decimal
    closing: Decimal
    credits: StatementCredits | None
    decisions: int
    lines: int
    closedAt: str | None


class UsageReport(TypedDict):
    summary: UsageSummary
    timeSeries: list[UsageBucket]
    topContent: list[UsedContent]
    topRequesters: list[ActiveRequester]
    byDenialReason: list[DenialReason]


class VisitorReportShown(TypedDict):
    """
    Visits at the edge by visitor and by crawler class.
    """

    object: str
    startDate: str
    endDate: str
    total: int
    byClass: list[VisitCounts]
    visitors: list[VisitorShown]


class Wallet(TypedDict):
    """
    Prepaid credit of a requester, or of one of its licences.
    """

    id: str
    object: str
    requesterId: str
    requesterName: str | None
    licenseId: str | None
    unit: str
    balance: Decimal
    floor: Decimal
    thresholds: list[Threshold]
    refill: Refill | None
    nextRefillAt: str | None
    created: str
    updated: str


class WalletRequest(TypedDict):
    """
    Prepaid credit of a requester, or of one of its licences.
    """

    requesterId: str
    licenseId: NotRequired[str | None]
    unit: WalletUnit
    floor: NotRequired[Decimal | str | None]
    thresholds: NotRequired[list[ThresholdRequest] | None]
    refill: NotRequired[RefillRequest | None]


class WebhookEndpointRequest(TypedDict):
    """
    A URL that receives the account's events.
    """

    url: str
    events: NotRequired[list[EventPattern] | None]
    description: NotRequired[str | None]
    accessFilter: NotRequired[AccessFilterRequest | None]
    status: NotRequired[WebhookStatus]
    headers: NotRequired[dict[str, str]]


class ApiKeyBulkOutcome(TypedDict):
    """
    The result of a row.
    """

    index: int
    status: int
    apiKey: OutcomeKey | None
    error: ErrorShown | None


class ApiKeyBulkOutcomes(TypedDict):
    data: list[ApiKeyBulkOutcome]
    object: str
    hasMore: bool
    totalCount: int


class ApiKeyBulkRequest(TypedDict):
    """
    Keys to create or change.
    """

    items: list[ApiKeyBulkRowRequest]


class BatchedDecision(TypedDict):
    """
    A decision of a batch. One that failed has `error`, and otherwise only `object` and `allowed`.
    """

    object: str
    id: NotRequired[str | None]
    allowed: bool
    reason: NotRequired[str | None]
    message: NotRequired[str | None]
    contentId: NotRequired[str]
    requester: NotRequired[RequesterShown]
    permission: NotRequired[str | None]
    permissions: NotRequired[list[str]]
    policyId: NotRequired[str | None]
    policyVersion: NotRequired[int | None]
    matchedRule: NotRequired[MatchedRule | None]
    license: NotRequired[LicenseBehind | None]
    rateLimit: NotRequired[RuleRateLimit | None]
    charge: NotRequired[ChargeShown | None]
    credits: NotRequired[CreditsShown]
    cacheFor: NotRequired[int]
    dryRun: NotRequired[bool]
    created: NotRequired[str]
    context: NotRequired[ContextShown]
    keyId: NotRequired[str | None]
    url: NotRequired[str]
    siteId: NotRequired[str | None]
    identifiedBy: NotRequired[str]
    referrer: NotRequired[str | None]
    imported: NotRequired[bool]
    observed: NotRequired[ObservedDenial]
    token: NotRequired[str]
    trace: NotRequired[list[TraceStep]]
    traceTruncated: NotRequired[bool]
    correlationId: NotRequired[str]
    error: NotRequired[ErrorShown]


class BatchedOffer(TypedDict):
    """
    An entry of a batch; for an unknown item only `object` and `error`.
    """

    object: str
    url: NotRequired[str | None]
    contentId: NotRequired[str]
    requesterId: NotRequired[str | None]
    permission: NotRequired[str | None]
    allowed: NotRequired[bool]
    reason: NotRequired[str | None]
    charge: NotRequired[ChargeShown | None]
    policyId: NotRequired[str | None]
    policyVersion: NotRequired[int | None]
    offers: NotRequired[list[Offer]]
    credits: NotRequired[CreditsShown]
    error: NotRequired[ErrorShown]


class BulkRequest(TypedDict):
    """
    The body of a bulk request.
    """

    items: list[BulkRowRequest]


class Conditions(TypedDict):
    """
    All must hold; of several values any. What is not known matches nothing.
    """

    licenseType: NotRequired[str | LicenseTypes]
    hasValidLicense: NotRequired[bool]
    default: NotRequired[Literal[True]]
    requesterId: NotRequired[str | RequesterIds]
    contentType: NotRequired[ContentType | ContentTypes]
    tags: NotRequired[str | Tags]
    category: NotRequired[str | Categories]
    permission: NotRequired[str | Permissions]
    ip: NotRequired[str | AddressRanges]
    before: NotRequired[str]
    after: NotRequired[str]
    attributes: NotRequired[dict[str, str | float | bool | AttributeValues | AttributeComparison | AttributeAbsence]]
    schedule: NotRequired[Schedule]


class ConditionsShown(TypedDict):
    """
    All must hold; of several values any. What is not known matches nothing.
    """

    licenseType: NotRequired[str | LicenseTypes]
    hasValidLicense: NotRequired[bool]
    default: NotRequired[bool]
    requesterId: NotRequired[str | RequesterIds]
    contentType: NotRequired[str | ContentTypesShown]
    tags: NotRequired[str | Tags]
    category: NotRequired[str | Categories]
    permission: NotRequired[str | PermissionsShown]
    ip: NotRequired[str | AddressRangesShown]
    before: NotRequired[str]
    after: NotRequired[str]
    attributes: NotRequired[
        dict[str, str | float | bool | AttributeValues | AttributeComparisonShown | AttributeAbsenceShown]
    ]
    schedule: NotRequired[ScheduleShown]


class DecisionBatch(TypedDict):
    object: str
    data: list[BatchedDecision]
    hasMore: bool
    totalCount: int


class DenyRule(TypedDict):
    action: Literal["deny"]
    priority: NotRequired[int]
    conditions: Conditions
    message: NotRequired[str]


class Error(TypedDict):
    """
    Why a request was refused.
    """

    error: ErrorDetail


class LicenseBulkRequest(TypedDict):
    """
    Licences to issue or change.
    """

    items: list[LicenseBulkRowRequest]


class OfferList(TypedDict):
    """
    The offers of a batch, in the order of the request.
    """

    object: str
    data: list[BatchedOffer]
    hasMore: bool
    totalCount: int


class PageReportShown(TypedDict):
    """
    Requests at the edge by page, by folder, by crawler and by day.
    """

    object: str
    siteId: str | None
    startDate: str
    endDate: str
    summary: PageCounts
    timeSeries: list[PagesOfDay]
    byCrawler: list[PageVisitor]
    folders: list[FolderShown]
    pages: list[PageShown]


class PaginatedRequesterProfileList(TypedDict):
    object: str
    data: list[RequesterProfile]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedSiteList(TypedDict):
    object: str
    data: list[Site]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedStatementList(TypedDict):
    object: str
    data: list[Statement]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedWalletList(TypedDict):
    object: str
    data: list[Wallet]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PatchedWalletChangeRequest(TypedDict):
    """
    The fields of a wallet that can be changed, and those that must stay as they were read.
    """

    requesterId: NotRequired[str]
    licenseId: NotRequired[str | None]
    unit: NotRequired[str]
    floor: NotRequired[Decimal | str | None]
    thresholds: NotRequired[list[ThresholdRequest] | None]
    refill: NotRequired[RefillRequest | None]


class RuleShown(TypedDict):
    """
    Allows or denies where its conditions hold.
    """

    action: str
    priority: NotRequired[int]
    conditions: ConditionsShown
    message: NotRequired[str]
    permissions: NotRequired[list[str]]
    rateLimit: NotRequired[RateLimitShown]
    pricePerAccess: NotRequired[PricePerAccess]


class AllowRule(TypedDict):
    action: Literal["allow"]
    priority: NotRequired[int]
    conditions: Conditions
    message: NotRequired[str]
    permissions: NotRequired[list[Permission]]
    rateLimit: NotRequired[RateLimit]
    pricePerAccess: NotRequired[PricePerAccess]


class Policy(TypedDict):
    """
    The terms on which requesters may access linked items.
    """

    id: str
    object: str
    externalId: str | None
    name: str
    description: str | None
    rules: list[RuleShown]
    defaultAction: str
    mode: str
    tests: NotRequired[list[PolicyTest]]
    metadata: NotRequired[dict[str, str | float | bool | None]]
    version: int
    created: str
    updated: NotRequired[str]


class PolicyBulkOutcome(TypedDict):
    """
    The outcome of a row.
    """

    index: int
    status: int
    policy: Policy | None
    error: ErrorShown | None


class PolicyBulkOutcomes(TypedDict):
    data: list[PolicyBulkOutcome]
    object: str
    hasMore: bool
    totalCount: int


class PolicyRevision(TypedDict):
    """
    A version of a policy. `updated` is when it was stored; absent for the first version.

    `externalId` and `metadata` are the policy's current ones: versions do not keep them.
    """

    id: str
    object: str
    externalId: str | None
    name: str
    description: str | None
    rules: list[RuleShown]
    defaultAction: str
    mode: str
    tests: NotRequired[list[PolicyTest]]
    metadata: NotRequired[dict[str, str | float | bool | None]]
    version: int
    created: str
    updated: NotRequired[str]


Rule: TypeAlias = AllowRule | DenyRule


class SimulationBodyRequest(TypedDict):
    """
    The body of a simulation. Fields missing from the draft are taken from the saved policy.
    """

    rules: NotRequired[list[Rule]]
    defaultAction: NotRequired[RuleAction]
    period: NotRequired[Literal["7d", "30d", "90d", "year", "all"]]
    startDate: NotRequired[str | None]
    endDate: NotRequired[str | None]
    limit: NotRequired[int | None]


class Content(TypedDict):
    """
    A publisher's content item, as the API shows and accepts it.
    """

    id: str
    object: str
    externalId: str | None
    title: str
    type: str
    source: str | None
    policyId: str | None
    policy: NotRequired[Policy | None]
    metadata: Metadata1
    tags: list[Tag]
    status: str
    stats: NotRequired[Stats]
    created: str
    updated: str


class Draft(TypedDict):
    """
    With `dryRun`: a proposed policy that replaces the item's own. Defaults are those of a new policy.
    """

    rules: NotRequired[list[Rule]]
    defaultAction: NotRequired[RuleAction]


class DraftRequest(TypedDict):
    """
    The fields of a policy draft.
    """

    rules: NotRequired[list[Rule]]
    defaultAction: NotRequired[RuleAction]


class PaginatedContentList(TypedDict):
    object: str
    data: list[Content]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedPolicyList(TypedDict):
    object: str
    data: list[Policy]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PaginatedPolicyRevisionList(TypedDict):
    object: str
    data: list[PolicyRevision]
    hasMore: bool
    nextCursor: NotRequired[str]
    totalCount: NotRequired[int]
    totalCountIsExact: NotRequired[bool]


class PatchedPolicyRequest(TypedDict):
    """
    The terms on which requesters may access linked items.
    """

    externalId: NotRequired[str | None]
    name: NotRequired[str]
    description: NotRequired[str | None]
    rules: NotRequired[list[Rule]]
    defaultAction: NotRequired[RuleAction]
    mode: NotRequired[Mode]
    tests: NotRequired[list[PolicyTestRequest] | None]
    metadata: NotRequired[dict[str, str | float | bool | None]]


class PolicyBulkRowRequest(TypedDict):
    """
    A policy to create, or changes to the one named by `id` or `externalId`.
    """

    id: NotRequired[str | None]
    externalId: NotRequired[str | None]
    name: NotRequired[str]
    description: NotRequired[str | None]
    rules: NotRequired[list[Rule]]
    defaultAction: NotRequired[RuleAction]
    mode: NotRequired[Mode]
    tests: NotRequired[list[PolicyTestRequest] | None]
    metadata: NotRequired[dict[str, str | float | bool | None]]


class PolicyRequest(TypedDict):
    """
    The terms on which requesters may access linked items.
    """

    externalId: NotRequired[str | None]
    name: str
    description: NotRequired[str | None]
    rules: NotRequired[list[Rule]]
    defaultAction: NotRequired[RuleAction]
    mode: NotRequired[Mode]
    tests: NotRequired[list[PolicyTestRequest] | None]
    metadata: NotRequired[dict[str, str | float | bool | None]]


class BatchItem(TypedDict):
    contentId: NotRequired[str | None]
    externalId: NotRequired[str | None]
    source: NotRequired[str | None]
    requester: NotRequired[str | Requester | None]
    permission: NotRequired[str | None]
    context: NotRequired[Context | None]
    dryRun: NotRequired[bool | None]
    explain: NotRequired[bool | None]
    sign: NotRequired[bool | None]
    policy: NotRequired[Draft | None]
    correlationId: NotRequired[str | None]


class BulkOutcome(TypedDict):
    """
    The outcome of a row of a bulk request.
    """

    index: int
    status: int
    content: Content | None
    error: ErrorShown | None


class BulkOutcomes(TypedDict):
    data: list[BulkOutcome]
    object: str
    hasMore: bool
    totalCount: int


class Check(TypedDict):
    """
    Check whether a requester may access an item. Exactly one of `contentId`, `externalId`, `source` names it.
    """

    contentId: NotRequired[str | None]
    externalId: NotRequired[str | None]
    source: NotRequired[str | None]
    requester: str | Requester
    permission: NotRequired[str | None]
    context: NotRequired[Context | None]
    dryRun: NotRequired[bool | None]
    explain: NotRequired[bool | None]
    sign: NotRequired[bool | None]
    policy: NotRequired[Draft | None]


class PolicyBulkRequest(TypedDict):
    """
    Policies to create or change.
    """

    items: list[PolicyBulkRowRequest]


class Batch(TypedDict):
    """
    Up to 100 checks. The other fields are defaults for checks that omit them.
    """

    contentId: NotRequired[str | None]
    externalId: NotRequired[str | None]
    source: NotRequired[str | None]
    requester: NotRequired[str | Requester | None]
    permission: NotRequired[str | None]
    context: NotRequired[Context | None]
    dryRun: NotRequired[bool | None]
    explain: NotRequired[bool | None]
    sign: NotRequired[bool | None]
    policy: NotRequired[Draft | None]
    checks: list[BatchItem]
