from accounts.models import Account
from tests import auditlog, factories


def create(api, **fields):
    return api.post("/v1/sites", {"host": "pub.example", **fields})


def test_a_site_comes_back_as_it_was_created(api, account):
    policy = factories.policy(account)
    rules = [{"pattern": "/premium/*", "policyId": policy.pk}, {"pattern": "/premium/free$", "policyId": None}]
    made = create(api, mode="observe", unknown="deny", rules=rules)
    assert (made.status, made["id"][:5]) == (201, "site_")
    expected = {"object": "site", "host": "pub.example", "mode": "observe", "unknown": "deny", "rules": rules}
    assert expected.items() <= made.body.items()
    assert made["created"] == made["updated"]
    assert api.get(f"/v1/sites/{made['id']}").body == made.body


def test_a_new_site_has_defaults_and_a_normal_host(api):
    for given, kept in [
        ("Pub.EXAMPLE", "pub.example"), ("Pub1.example.", "pub1.example"), ("intranet", "intranet"),
        ("bücher.example", "xn--bcher-kva.example"), ("192.0.2.7", "192.0.2.7"),
    ]:  # fmt: skip
        made = create(api, host=given)
        assert (made["host"], made["mode"], made["unknown"], made["rules"]) == (kept, "observe", "allow", [])
    for host in [
        "", " ", "https://pub.example", "pub.example/a", "pub.example:8080", "a b", "-a.example", "a..example",
        "*.a.b", "a" * 64 + ".example", ".".join(["abcdefgh"] * 30), "pub.example\n", "u@pub.example",
    ]:  # fmt: skip
        assert create(api, host=host).status_and_param == (422, "host")


def test_robots_txt_may_be_64_kib_long_and_not_blank(api):
    made = create(api, robotsTxt="#" * 65_536)
    assert (made.status, made["robotsTxt"]) == (201, "#" * 65_536)
    for refused in ("#" * 65_537, " ", ""):
        assert api.patch(f"/v1/sites/{made['id']}", {"robotsTxt": refused}).status_and_param == (422, "robotsTxt")


def test_invalid_rules_are_refused_by_place(api):
    for pattern in [
        "", "premium", "*", "/a b", "/a?b", "/a#b", "/a$b", "/a/../b", "/a/%2e%2e/b", "/./a", "/a\tb",
        "/" + "a" * 2048,
    ]:  # fmt: skip
        reply = create(api, rules=[{"pattern": "/ok"}, {"pattern": pattern}])
        assert reply.status_and_param == (422, "rules[1].pattern")
    reply = create(api, rules=[{"pattern": "/premium/*"}, {"pattern": "/%70remium//*"}])
    assert reply.status_and_param == (422, "rules[1].pattern")
    assert create(api, rules=[{"pattern": "/a", "policy": None}]).status_and_param == (422, "rules[0].policy")
    made = create(api)
    reply = api.patch(f"/v1/sites/{made['id']}", {"rules": [{"policyId": None}]})
    assert reply.status_and_param == (422, "rules[0].pattern")


def test_the_rules_of_a_site_are_bounded(api):
    many = [{"pattern": f"/{number}/*"} for number in range(201)]
    wild = [{"pattern": "/ok"}, {"pattern": "/" + "*a" * 10}]
    long = [{"pattern": f"/{number:02}".ljust(2_000, "a")} for number in range(10)]
    made = create(api, rules=many[:200])
    assert made.status == 201
    for rules, further, param, message in [
        (many[:200], "/further", "rules", ""),
        (wild, "/" + "*b" * 11, "rules[2].pattern", "at most 10 wildcards"),
        (long, "/b", "rules", "at most 20,000 characters"),
    ]:
        assert api.patch(f"/v1/sites/{made['id']}", {"rules": rules}).status == 200
        reply = api.patch(f"/v1/sites/{made['id']}", {"rules": [*rules, {"pattern": further}]})
        assert reply.status_and_param == (422, param)
        assert message in reply.error["message"]


def test_the_policy_of_a_rule_has_to_be_the_accounts_own(api, other_account, account):
    deleted, theirs = factories.policy(account).pk, factories.policy(other_account).pk
    api.delete(f"/v1/policies/{deleted}")
    for policy in ["pol_nope", "pol_" + "0" * 26, theirs, deleted]:
        reply = create(api, rules=[{"pattern": "/free"}, {"pattern": "/premium", "policyId": policy}])
        assert reply.status_and_param == (422, "rules[1].policyId")
    assert api.get("/v1/sites")["totalCount"] == 0


def test_the_hosts_of_the_service_cannot_be_sites(api, settings):
    settings.ALLOWED_HOSTS = ["localhost", "testserver", "api.example", ".domain.example", "*"]
    settings.BASE_URL = "https://licences.example:8443"
    made = create(api, host="shop.domain.example")
    assert made.status == 201
    for host in ["api.example", "API.example.", "licences.example", "localhost"]:
        for reply in (create(api, host=host), api.patch(f"/v1/sites/{made['id']}", {"host": host})):
            assert reply.status_and_param == (422, "host")


def test_a_site_whose_host_has_become_the_services_own_can_be_changed(api, settings):
    made = create(api)
    settings.ALLOWED_HOSTS = ["localhost", "testserver", "pub.example"]
    assert api.patch(f"/v1/sites/{made['id']}", {"host": "pub.example", "mode": "observe"}).status == 200
    assert api.patch(f"/v1/sites/{made['id']}", {"host": "other.example"}).status == 200


def test_a_host_is_one_site_in_an_account_until_it_is_deleted(api, other_api):
    made = create(api)
    again = create(api, host="PUB.example")
    assert (again.status, again.error["code"], again.error["param"]) == (409, "resource_already_exists", "host")
    other = create(api, host="other.example")
    assert api.patch(f"/v1/sites/{other['id']}", {"host": "pub.example"}).status == 409
    assert create(other_api).status == 201
    deleted = api.delete(f"/v1/sites/{made['id']}")
    assert deleted.body == {"id": made["id"], "object": "site", "deleted": True}
    assert api.get(f"/v1/sites/{made['id']}").status == 404
    assert create(api).status == 201


def test_a_change_of_rules_keeps_the_rest_is_logged_and_invalidates_caches(api, account):
    def epoch():
        return Account.objects.values_list("epoch", flat=True).get(pk=account.pk)

    first = epoch()
    made = create(api, unknown="deny", rules=[{"pattern": "/a"}, {"pattern": "/b"}])
    assert epoch() == first + 1
    changed = api.patch(f"/v1/sites/{made['id']}", {"rules": [{"pattern": "/c"}]})
    assert (changed["rules"], changed["unknown"]) == ([{"pattern": "/c", "policyId": None}], "deny")
    assert epoch() == first + 2
    created, updated = auditlog.entries(resource_id=made["id"])
    assert (created.action, updated.action) == ("site.created", "site.updated")
    assert updated.changes == {"rules": [made["rules"], changed["rules"]]}
    assert api.patch(f"/v1/sites/{made['id']}", {"mode": "disabled"})["rules"] == changed["rules"]
    api.delete(f"/v1/sites/{made['id']}")
    assert epoch() == first + 4


def test_a_policy_that_a_site_has_rules_with_is_not_deleted(api, account):
    policy = factories.policy(account)
    site = factories.site(account, {"/premium/*": policy})
    refused = api.delete(f"/v1/policies/{policy.pk}")
    assert refused.status_and_code == (409, "resource_in_use")
    assert site.host in refused.error["message"]
    api.delete(f"/v1/sites/{site.pk}")
    assert api.delete(f"/v1/policies/{policy.pk}").status == 200


def test_the_pages_of_a_site_create_no_content_items(api, account):
    site = factories.site(account)
    assert api.get("/v1/content")["totalCount"] == 0
    assert api.get(f"/v1/content/{site.pages_id}").status == 404


LONGEST = {"name": 100, "refusalMessage": 500, "linkLabel": 60}


def test_the_texts_of_the_refusal_page_are_kept_and_validated(api):
    for url in [
        "javascript:alert(1)", "JavaScript://a/%0aalert(1)", "data:text/html,a", "//evil.example", "/abo",
        "ftp://a.example/", "https://", "https:///a", " https://a.example/", "https://a.example/\nX: 1", "",
        f"https://a.example/{'a' * 500}",
    ]:  # fmt: skip
        assert api.post("/v1/sites", {"host": "pub.example", "linkUrl": url}).status_and_param == (422, "linkUrl")
    for name, length in LONGEST.items():
        longest = "🗞" * length
        assert api.post("/v1/sites", {"host": f"{name.lower()}.example", name: longest})[name] == longest
        assert api.post("/v1/sites", {"host": "b.example", name: f"{longest}a"}).error["param"] == name
        assert api.post("/v1/sites", {"host": "b.example", name: "a\0"}).error["param"] == name
    texts = {
        "name": " Ø & <b>報道</b> 🗞 ",
        "refusalMessage": "Two\nlines <script>",
        "linkUrl": "HTTPS://pub.example/abo?a=1&b='\"#x",
        "linkLabel": "Abonnieren",
    }
    created = api.post("/v1/sites", {"host": "pub.example", **texts})
    assert {name: created[name] for name in texts} == texts
    emptied = api.patch(f"/v1/sites/{created['id']}", dict.fromkeys(texts))
    assert {emptied[name] for name in texts} == {None}
