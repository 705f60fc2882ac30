"""Every text that the API takes about a customer is either personal, so that an erasure removes it, or listed here."""

import pytest

from accounts.events.recording import objects
from accounts.people import PERSONAL
from analytics.ledger.serializers import LedgerEntrySerializer
from analytics.payments.serializers import PaymentSerializer
from analytics.wallets.serializers import WalletSerializer
from kit.rest.fields import Email, Text
from kit.rest.metadata import FreeMetadata
from licensing.clients.serializers import LicenseClientSerializer
from licensing.licenses.serializers import LicenseSerializer
from licensing.requesters.serializers import RequesterProfileSerializer

SERIALIZERS = {
    "requester": RequesterProfileSerializer,
    "license": LicenseSerializer,
    "license_client": LicenseClientSerializer,
    "wallet": WalletSerializer,
    "payment": PaymentSerializer,
    "ledger_entry": LedgerEntrySerializer,
}
IDS = {"id", "requesterId", "mergedInto"}  # become pseudonyms
# Terms, ids of the publisher's systems, and words of the catalogue.
KEPT = {"externalId", "licenseType", "contentTitle"}


@pytest.mark.parametrize("kind", SERIALIZERS)
def test_an_erasure_knows_each_text_about_a_customer(kind):
    fields = SERIALIZERS[kind]().fields
    texts = {name for name, field in fields.items() if isinstance(field, FreeMetadata) or type(field) in (Text, Email)}
    shown_in_history = texts - {"requesterName"} if kind == "license_client" else texts
    assert shown_in_history - IDS - KEPT == set(PERSONAL[kind])


def test_an_erasure_knows_each_kind_of_event_that_names_a_customer():
    naming = {kind for kind, shown in objects.items() if {"requesterId", "requester"} & shown.example.keys()}
    assert naming | {"requester", "license_client", "portal_session"} == set(PERSONAL)
