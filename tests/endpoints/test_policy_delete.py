from tests import factories


def test_a_deleted_policy_is_not_found(api, policy):
    reply = api.delete(f"/v1/policies/{policy.pk}")
    assert (reply.status, reply.body) == (200, {"id": policy.pk, "object": "policy", "deleted": True})
    for method, path in [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/versions"), ("POST", "/rollback")]:
        api.delete(f"/v1/policies/{policy.pk}")
        body = {"PATCH": {"name": "x"}, "POST": {"version": 1}}.get(method)
        assert api.request(method, f"/v1/policies/{policy.pk}{path}", body).status == 404
    assert api.get("/v1/policies")["totalCount"] == 0


def test_a_linked_policy_stays_until_nothing_links_to_it_and_its_decisions_outlive_it(api, account, policy, item):
    path = f"/v1/policies/{policy.pk}"
    decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org"})
    other = factories.content(account, policy_id=policy.pk)
    for unlink in (
        lambda: api.patch(f"/v1/content/{item.pk}", {"policyId": None}),
        lambda: api.delete(f"/v1/content/{other.pk}"),
    ):
        reply = api.delete(path)
        assert (reply.status, reply.error["code"], reply.error["type"]) == (409, "resource_in_use", "conflict_error")
        assert api.get(path).status == 200
        unlink()
    assert api.delete(path).status == 200
    kept = api.get(f"/v1/access/decisions/{decision['id']}")
    assert (kept.status, kept["policyId"], kept["reason"]) == (200, policy.pk, "no_license")


def test_the_refusal_names_items_and_sites_at_once(api, account, policy, item):
    def message():
        reply = api.delete(f"/v1/policies/{policy.pk}")
        assert reply.status == 409
        return reply.error["message"]

    first = factories.site(account, {"/a/*": policy, "/b/*": policy}, host="a.example")
    items, site = "1 content item still links to this policy.", "The site a.example still has rules with this policy."
    assert message() == f"{items} {site}"
    for number in range(10):
        factories.site(account, {"/a/*": policy}, host=f"b{number}.example")
    hosts = ", ".join(["a.example", *(f"b{number}.example" for number in range(9))])
    assert message() == f"{items} The sites {hosts} and 1 more still have rules with this policy."
    api.patch(f"/v1/content/{item.pk}", {"policyId": None})
    first.delete()
    hosts = ", ".join(f"b{number}.example" for number in range(10))
    assert message() == f"The sites {hosts} still have rules with this policy."
