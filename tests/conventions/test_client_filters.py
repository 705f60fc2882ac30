"""Filters of licence server clients."""

import pytest

from licensing.clients.models import LicenseClient
from tests import factories
from tests.conventions.filtered_lists import CLIENTS
from tests.conventions.filtering import DAYS, check_filter


@pytest.fixture
def rows_of_clients(account):
    known = {}
    for index in range(4):
        row = {name: values[index] for name, (values, _) in CLIENTS.items()}
        made, _ = factories.license_client(account, row["requesterId"], name=row["name"])
        known[f"row{index}"] = made.pk
        revoked = DAYS[index] if row["revokedAt"] else None
        LicenseClient.objects.filter(pk=made.pk).update(created=DAYS[index], revoked_at=revoked)
    return known


@pytest.mark.parametrize("name", CLIENTS)
def test_clients_can_be_filtered_by(api, rows_of_clients, name):
    check_filter(api, "/v1/license-clients", CLIENTS, name, rows_of_clients)
