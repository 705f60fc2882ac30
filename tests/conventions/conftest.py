from typing import NamedTuple

import pytest

from accounts.models import Account
from licensing.sites.verification import Evidence, VerificationSource, file_url, txt_name
from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture
from tests.conventions.endpoints import make_resources
from tests.standing import Unblock, as_new


class Everything(frozenset[str]):
    def __contains__(self, record: object) -> bool:
        return True


@pytest.fixture(autouse=True)
def published_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve every host's DNS and file records from its sites; no test uses the network."""

    async def look(host: str) -> Evidence:
        return Evidence(host, VerificationSource(file_url(host), Everything()), VerificationSource(txt_name(host)))

    monkeypatch.setattr("licensing.sites.views.look_at_host", look)


class Stocked(NamedTuple):
    """A module-scoped account, and the ids of one of each resource."""

    account_id: str
    ids: dict[str, str]


def stocked(for_the_module: Unblock, name: str) -> Stocked:
    with for_the_module():
        account = factories.account(name)
        return Stocked(account.pk, make_resources(account))


@pytest.fixture(scope="module")
def ours(for_the_module: Unblock) -> Stocked:
    return stocked(for_the_module, "Publisher")


@pytest.fixture(scope="module")
def other(for_the_module: Unblock) -> Stocked:
    return stocked(for_the_module, "Other")


@pytest.fixture
def account(db: None, request: pytest.FixtureRequest) -> Account:
    """The owner of `ids` if the test uses them, otherwise a new account."""
    return as_new(request.getfixturevalue("ours").account_id) if "ids" in request.fixturenames else factories.account()


@pytest.fixture
def ids(ours: Stocked, account: Account) -> dict[str, str]:
    """The ids of the account's own resources."""
    return dict(ours.ids)


@pytest.fixture
def other_account(db: None, request: pytest.FixtureRequest) -> Account:
    """The owner of `theirs` if the test uses them, otherwise a new account."""
    if "theirs" in request.fixturenames:
        return as_new(request.getfixturevalue("other").account_id)
    return factories.account("Other")


@pytest.fixture
def theirs(other: Stocked, other_account: Account) -> dict[str, str]:
    """The ids of the other account's resources."""
    return dict(other.ids)
