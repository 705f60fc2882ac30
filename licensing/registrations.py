"""Registers objects and deadlines of events when Django starts, and what accounts and analytics cannot
import: names of requesters, words of denial reasons, bookings of fees, what an erasure keeps, and signal receivers.
"""

from datetime import timedelta

from accounts.events import deadlines
from accounts.events.recording import register, register_plain
from accounts.limits.events import read_names_by
from accounts.plans.services import time_zone_changed
from accounts.webhooks.serializers import reasons_for_denials
from analytics.archive.redaction import redact_facts_by
from analytics.events.retention import before_removal
from analytics.ledger import due
from licensing.content.examples import CONTENT, CONTENT_IMPORT
from licensing.content.serializers import ContentSerializer
from licensing.licenses.examples import LICENSE
from licensing.licenses.fees import book_due_fees, move_fees_to_zone
from licensing.licenses.models import License, LicenseStatus
from licensing.licenses.serializers import LicenseSerializer, former_terms
from licensing.policies.decision import Reason
from licensing.policies.examples import POLICY
from licensing.policies.facts import kept_by_erasure
from licensing.policies.serializers import PolicySerializer
from licensing.requesters.examples import REQUESTER
from licensing.requesters.serializers import RequesterProfileSerializer
from licensing.requesters.services import get_names
from licensing.visits.counting import count_before

redact_facts_by(kept_by_erasure)
read_names_by(get_names)
before_removal.connect(count_before)
reasons_for_denials.update({reason.value: reason.words for reason in Reason})

due.bookers.append(book_due_fees)
time_zone_changed.connect(move_fees_to_zone)

register("content", ContentSerializer(), CONTENT)
register("policy", PolicySerializer(), POLICY)
register("requester", RequesterProfileSerializer(), REQUESTER)
register("license", LicenseSerializer(), LICENSE, former_terms)
register_plain("content_import", CONTENT_IMPORT)
deadlines.register(
    "license",
    deadlines.ExpiringKind(
        License.objects.filter(status=LicenseStatus.ACTIVE).select_related("requester"), "created", list
    ),
    *deadlines.warnings_before("license", timedelta(days=7), timedelta(days=1)),
    deadlines.Deadline("license.expired", "license", timedelta(0), -deadlines.CATCH_UP),
)
