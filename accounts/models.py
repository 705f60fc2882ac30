"""The models of accounts, for Django and other apps; each is defined in its own package."""

from accounts.auditing.models import ActorType, AuditEntry, Redaction
from accounts.events.models import EndNotice, Event
from accounts.keys.models import ApiKey, KeyType, PepperFingerprint
from accounts.limits.events import LimitNotice
from accounts.plans.models import PLAN_LIMITS, Account, EpochChange, Plan, Unknown, VisitorAddresses
from accounts.retries.models import IdempotencyRecord
from accounts.staff.models import Authenticator, RecoveryCode, SavedFilter, StaffScope, StaffTimeZone
from accounts.webhooks.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint

__all__ = [
    "PLAN_LIMITS",
    "Account",
    "ActorType",
    "ApiKey",
    "AuditEntry",
    "Authenticator",
    "EndNotice",
    "EpochChange",
    "Event",
    "IdempotencyRecord",
    "KeyType",
    "LimitNotice",
    "PepperFingerprint",
    "Plan",
    "RecoveryCode",
    "Redaction",
    "SavedFilter",
    "StaffScope",
    "StaffTimeZone",
    "Unknown",
    "VisitorAddresses",
    "WebhookAttempt",
    "WebhookDelivery",
    "WebhookEndpoint",
]
