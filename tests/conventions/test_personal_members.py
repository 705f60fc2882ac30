"""Every text that the API takes about a customer is either personal, so that an erasure removes it, or listed here."""

import pytest

from accounts.events.recording import objects
from accounts.history.personal_members import PERSONAL
from kit.rest.fields import Email, Text
from kit.rest.metadata import FreeMetadata
from licensing.clients.serializers import LicenseClientSerializer

# No event shows them: only the audit log has them. An entry of a portal session has no object of the API.
ONLY_AUDITED = {"license_client": LicenseClientSerializer(), "portal_session": None}
SHOWN = {kind: getattr(shown.show, "__self__", None) for kind, shown in objects.items()}  # None: has no model
SERIALIZERS = {
    kind: serializer for kind, serializer in {**ONLY_AUDITED, **SHOWN}.items() if kind in PERSONAL and serializer
}
IDS = {"id", "requesterId", "mergedInto"}  # become pseudonyms
# Terms, ids of the publisher's systems, and words of the catalogue.
KEPT = {"externalId", "licenseType", "contentTitle"}


@pytest.mark.parametrize("kind", SERIALIZERS)
def test_an_erasure_knows_each_text_about_a_customer(kind):
    fields = SERIALIZERS[kind].fields
    texts = {name for name, field in fields.items() if isinstance(field, FreeMetadata) or type(field) in (Text, Email)}
    assert texts - IDS - KEPT == set(PERSONAL[kind])


def test_an_erasure_knows_each_kind_of_event_that_names_a_customer():
    naming = {kind for kind, shown in objects.items() if {"requesterId", "requester"} & shown.example.keys()}
    assert naming | {"requester"} | ONLY_AUDITED.keys() == set(PERSONAL)
    for kind in PERSONAL.keys() - SERIALIZERS.keys() - ONLY_AUDITED.keys():
        person = objects[kind].example["requester"]
        assert {f"requester.{name}" for name in person.keys() - IDS} == set(PERSONAL[kind])
