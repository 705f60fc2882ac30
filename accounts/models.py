"""The models of accounts, for Django and other apps; each is defined in its own package."""

from accounts.auditing.models import ActorType, AuditEntry, Redaction
from accounts.events.models import EndNotice, Event
from accounts.keys.models import ApiKey, KeyType, PepperFingerprint
from accounts.limits.events import LimitNotice
from accounts.plans.models import PLAN_LIMITS, Account, EpochChange, Plan, Unknown, VisitorAddresses
from accounts.retries.models import IdempotencyRecord
from accounts.staff.models import Authenticator, RecoveryCode, SavedFilter, StaffScope, StaffTimeZone
from accounts.webhooks.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
