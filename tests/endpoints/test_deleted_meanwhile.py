import pytest

from kit.http.errors import NotFound
from licensing.account_deletion import delete_account
from licensing.content import services as content_services
from licensing.policies import services as policy_services
from tests import factories


def test_resources_that_are_deleted_meanwhile_are_not_changed(account) -> None:
    policy = factories.policy(account)
    policy_services.delete_policy(policy)
    with pytest.raises(NotFound):
        policy_services.update_policy(policy, {"name": "Changed"})
    item = factories.content(account)
    content_services.delete_content(item)
    with pytest.raises(NotFound):
        content_services.update_content(item, {"title": "Changed"})


def test_the_keys_of_an_account_that_is_deleted_are_refused_at_once(api, account) -> None:
    item = factories.content(account, policy_id=factories.policy(account).pk)
    check = {"contentId": item.pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check).status == 200  # and caches the facts
    delete_account(account)
    checks = [check, {**check, "requester": "org_new"}, {**check, "dryRun": True}, {**check, "contentId": "cnt_none"}]
    for reply in [*(api.post("/v1/access/check", one) for one in checks), api.get("/v1/content")]:
        assert reply.status_and_code == (401, "invalid_api_key")
