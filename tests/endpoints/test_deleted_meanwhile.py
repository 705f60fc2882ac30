"""What was found can be deleted before it is locked to be changed: it is then not found."""

import pytest

from config.api.errors import NotFound
from licensing import services
from tests import factories


def test_content_that_is_deleted_meanwhile_is_not_changed(account) -> None:
    item = factories.content(account)
    services.delete_content(item)
    with pytest.raises(NotFound):
        services.update_content(item, {"title": "Changed"})


def test_a_policy_that_is_deleted_meanwhile_is_not_changed(account) -> None:
    policy = factories.policy(account)
    services.delete_policy(policy)
    with pytest.raises(NotFound):
        services.update_policy(policy, {"name": "Changed"})
