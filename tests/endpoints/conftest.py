"""An item with a policy, unless a test module has its own."""

import pytest

from accounts import bulk
from kit.rest.bulk import MAX_ROWS
from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture


@pytest.fixture
def in_one_part(monkeypatch):
    """Commit all rows of a bulk request together on SQLite, too."""
    monkeypatch.setattr(bulk, "PART_ROWS", MAX_ROWS)


@pytest.fixture
def policy(account):
    return factories.policy(account)


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk, external_id="a-1", source="https://example.com/a")


@pytest.fixture
def check(api, item):
    """Check `item` for org_acme, unless fields say otherwise."""
    return lambda **fields: api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme", **fields})
