"""What was found can be deleted before it is locked to be changed: it is then not found."""

import pytest

from kit.http.errors import NotFound
from licensing.content import services as content_services
from licensing.policies import services as policy_services
from tests import factories


def test_content_that_is_deleted_meanwhile_is_not_changed(account) -> None:
    item = factories.content(account)
    content_services.delete_content(item)
    with pytest.raises(NotFound):
        content_services.update_content(item, {"title": "Changed"})


def test_a_policy_that_is_deleted_meanwhile_is_not_changed(account) -> None:
    policy = factories.policy(account)
    policy_services.delete_policy(policy)
    with pytest.raises(NotFound):
        policy_services.update_policy(policy, {"name": "Changed"})
