from django.db import connection

from tests import factories
from tests.client import ApiClient
from tests.endpoints.content_fields import FIELDS


def test_stats_count_allowed_and_denied_requests_of_the_item_alone(api, account, item):
    for requester in (factories.LICENSED_REQUESTER, factories.LICENSED_REQUESTER, "org_nobody"):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": requester})
    reply = api.get(f"/v1/content/{item.pk}")
    assert (reply.status, set(reply.body)) == (200, FIELDS | {"stats"})
    assert reply["stats"] == {"totalRequests": 3, "allowedRequests": 2, "deniedRequests": 1}
    other = api.get(f"/v1/content/{factories.content(account).pk}")
    assert other["stats"] == {"totalRequests": 0, "allowedRequests": 0, "deniedRequests": 0}


def test_a_policy_is_embedded_only_on_request_and_with_permission(api, account, item, policy):
    path, bare = f"/v1/content/{item.pk}", f"/v1/content/{factories.content(account).pk}"
    reply = api.get(path, expand="policy")
    assert (reply["policyId"], reply["policy"]) == (policy.pk, api.get(f"/v1/policies/{policy.pk}").body)
    assert "policy" not in api.get(path).body
    reply = api.get(bare, expand="policy")
    assert (reply.status, reply["policy"]) == (200, None)
    reader = ApiClient(factories.key_text(account, permissions=["content:read"]))
    for refused in ["/v1/content", "/v1/content/cnt_none"]:
        reply = reader.get(refused, expand="policy")
        assert reply.status_and_code == (403, "insufficient_permissions")
        assert "policies:read" in reply.error["message"]
    for expand in ["", "polcy", "policy,stats", "policy,", "Policy"]:
        assert api.get(path, expand=expand).status_and_param == (400, "expand")


def test_an_item_and_its_stats_are_read_by_one_query(api, account):
    item = factories.content(account)
    statements = []

    def note(execute, sql, params, many, context):
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        assert api.get(f"/v1/content/{item.pk}").status == 200
    tables = ("licensing_content", "analytics_contentyear")
    assert len([sql for sql in statements if any(table in sql for table in tables)]) == 1
