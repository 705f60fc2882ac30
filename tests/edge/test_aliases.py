from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from analytics.models import AccessEvent
from licensing.edge.proxies.files import PROXY_KINDS, proxy_file
from licensing.license_server.resources import HostUnverified, find_resource
from licensing.sites.services import update_site
from tests import factories
from tests.client import ApiClient
from tests.edge.asking import READERS, event, told

ALIAS = "www.pub.example"


@pytest.fixture
def aliased(site):
    """The site pub.example with www.pub.example, which refuses everything but /premium/."""
    return lambda *rules, **fields: site(*(rules or [READERS]), aliases=[ALIAS], unknown="deny", **fields)


def test_pages_at_an_alias_are_those_of_the_host(ask, account, aliased):
    made = aliased()
    for _ in range(2):
        reply = ask("/premium/a?b=c", x_forwarded_host="WWW.pub.example.:8443")
        assert told(reply) == (200, "allow", None)
        facts = event(reply).facts
        assert (facts["url"], facts["siteId"]) == ("https://pub.example/premium/a", made.pk)
    assert told(ask("/other", x_forwarded_host=ALIAS)) == (403, "deny", "no_policy")
    assert told(ask("/premium/a", x_forwarded_host="shop.pub.example")) == (200, "allow", None)


@pytest.mark.parametrize("registered", ["pub.example", ALIAS])
def test_an_item_at_one_host_is_found_at_all_of_them(ask, account, aliased, registered):
    aliased()
    denying = factories.policy(account, factories.DENY_ALL)
    item = factories.content(account, source=f"https://{registered}/premium/a", policy_id=denying.pk)
    for host in ("pub.example", ALIAS):
        for uri in ("/premium/a", "/premium/a?utm_source=x", "/premium/%61", "/premium/b/..;/a"):
            reply = ask(uri, x_forwarded_host=host)
            assert (reply.status, event(reply).content_id) == (403, item.pk)
        assert ask("/premium/b", x_forwarded_host=host).status == 200


def test_the_newest_item_decides_if_several_are_at_one_page(ask, account, aliased):
    aliased()
    factories.content(account, source=f"https://{ALIAS}/a", policy_id=factories.policy(account, READERS).pk)
    denying = factories.policy(account, factories.DENY_ALL)
    newest = factories.content(account, source="https://pub.example/a", policy_id=denying.pk)
    for host in ("pub.example", ALIAS):
        assert event(ask("/a", x_forwarded_host=host)).content_id == newest.pk


def test_a_change_of_aliases_holds_for_the_next_request(ask, aliased):
    made = aliased()
    assert ask("/other", x_forwarded_host=ALIAS).status == 403
    made = update_site(made, {"aliases": ["m.pub.example"]})
    assert ask("/other", x_forwarded_host=ALIAS).status == 200
    assert ask("/other", x_forwarded_host="m.pub.example").status == 403
    update_site(made, {"aliases": [ALIAS]})
    assert ask("/other", x_forwarded_host=ALIAS).status == 403
    assert ask("/other", x_forwarded_host="m.pub.example").status == 200


def test_an_item_that_is_added_at_an_alias_counts_for_the_next_request(ask, account, aliased):
    aliased()
    assert ask("/premium/a").status == 200
    denying = factories.policy(account, factories.DENY_ALL)
    factories.content(account, source=f"https://{ALIAS}/premium/a", policy_id=denying.pk)
    assert ask("/premium/a").status == 403


def test_a_key_for_the_host_may_ask_about_its_aliases(ask, account, aliased):
    made = aliased()
    key = factories.key_text(account, permissions=["access:check"], allowed_hosts=["pub.example"])
    assert ask("/premium/a", x_licensing_key=key, x_forwarded_host=ALIAS).status == 200
    assert told(ask("/premium/a", x_licensing_key=key, x_forwarded_host="shop.pub.example"))[2] == "host_not_allowed"
    update_site(made, {"aliases": []})
    assert told(ask("/premium/a", x_licensing_key=key, x_forwarded_host=ALIAS))[2] == "host_not_allowed"


@pytest.mark.usefixtures("one_reader_per_address")
def test_a_limit_per_visitor_counts_all_hosts_together(ask, aliased):
    aliased({**READERS, "rateLimit": {"requests": 1, "period": "month", "per": "visitor"}})
    assert [ask("/premium/a", x_forwarded_host=host).status for host in ("pub.example", ALIAS)] == [200, 429]


def test_documents_are_published_at_an_alias(client, aliased):
    aliased()
    published = client.get("/license.xml", HTTP_HOST=ALIAS).content.decode()
    assert "https://www.pub.example/premium/" in published
    assert "https://pub.example/premium/" in client.get("/license.xml", HTTP_HOST="pub.example").content.decode()
    assert client.get("/license.xml", HTTP_HOST="shop.pub.example").status_code != 200


def test_the_log_of_an_alias_is_imported_for_its_site(aliased, tmp_path):
    aliased(mode="observe")
    now = datetime.now(UTC) - timedelta(days=1)
    request = f'[{now:%d/%b/%Y:%H:%M:%S} +0000] "GET http://{ALIAS}/premium/a HTTP/1.1" 200 12 "-" "GPTBot/1.0"'
    log = tmp_path / "access.log"
    log.write_text(f"203.0.113.9 - - {request}\n")
    call_command("import_access_log", log, site=ALIAS, stdout=StringIO())
    assert AccessEvent.objects.get().facts["url"] == "https://pub.example/premium/a"


def test_nobody_publishes_terms_at_the_host_of_another_account_by_an_alias(client, aliased, other_account):
    made = aliased()
    theirs = factories.policy(other_account, READERS)
    factories.site(other_account, {"/": theirs}, host="rival.example", aliases=["pub.example"])
    assert client.get("/license.xml", HTTP_HOST="pub.example").status_code != 200
    made.verified_at = made.created
    made.save()
    assert "https://pub.example/premium/" in client.get("/license.xml", HTTP_HOST="pub.example").content.decode()


def test_a_licence_token_names_all_hosts_that_are_the_account_s_alone(account, other_account, aliased):
    aliased()
    resource = find_resource(account.pk, f"https://{ALIAS}/premium/a")
    assert {f"https://{host}/premium/a" for host in ("pub.example", ALIAS)} <= set(resource.audience)
    factories.site(other_account, {}, host=ALIAS)
    with pytest.raises(HostUnverified):
        find_resource(account.pk, f"https://{ALIAS}/premium/a")
    assert not any(ALIAS in one for one in find_resource(account.pk, "https://pub.example/premium/a").audience)


@pytest.mark.parametrize(
    ("proxy", "names"),
    [
        ("nginx", "server_name pub.example www.pub.example;"),
        ("caddy", "\npub.example, www.pub.example {"),
        ("envoy", "domains: [pub.example, www.pub.example]"),
        ("traefik", "rule: (Host(`pub.example`) || Host(`www.pub.example`)) && Path"),
    ],
)
def test_generated_proxy_files_serve_the_aliases(aliased, proxy, names):
    assert names in proxy_file(aliased(), proxy).content
    assert proxy in PROXY_KINDS


def test_hosts_belong_to_one_site(account, api_of, aliased):
    api: ApiClient = api_of(account)
    made = aliased()
    assert api.get(f"/v1/sites/{made.pk}")["aliases"] == [ALIAS]
    for fields, status, param in [
        ({"host": ALIAS}, 409, "host"),
        ({"host": "new.example", "aliases": [ALIAS]}, 409, "aliases[0]"),
        ({"host": "new.example", "aliases": ["m.new.example", "pub.example"]}, 409, "aliases[1]"),
        ({"host": "new.example", "aliases": ["new.example"]}, 422, "aliases[0]"),
        ({"host": "new.example", "aliases": ["a.example", "A.example."]}, 422, "aliases[1]"),
        ({"host": "new.example", "aliases": ["a.example/b"]}, 422, "aliases[0]"),
        ({"host": "new.example", "aliases": [f"{number}.example" for number in range(11)]}, 422, "aliases"),
    ]:
        assert api.post("/v1/sites", fields).status_and_param == (status, param), fields
    moved = api.patch(f"/v1/sites/{made.pk}", {"host": ALIAS, "aliases": ["pub.example"]})
    assert (moved["host"], moved["aliases"]) == (ALIAS, ["pub.example"])
    assert api.patch(f"/v1/sites/{made.pk}", {"aliases": None})["aliases"] == []
    assert api.post("/v1/sites", {"host": "pub.example"}).status == 201


def test_enforcing_a_site_names_the_hosts_that_it_does_not_cover(ask, account, api_of, aliased):
    api: ApiClient = api_of(account)
    made = aliased(mode="observe")
    for host in ("shop.pub.example", "m.pub.example", ALIAS):
        ask("/", x_forwarded_host=host)
    assert "uncoveredHosts" not in api.patch(f"/v1/sites/{made.pk}", {"name": "Pub"}).body
    changed = api.patch(f"/v1/sites/{made.pk}", {"mode": "enforce", "aliases": [ALIAS, "m.pub.example"]})
    assert changed["uncoveredHosts"] == ["shop.pub.example"]
    read = api.get(f"/v1/sites/{made.pk}")
    assert "uncoveredHosts" not in read.body
    assert read.headers["ETag"] == changed.headers["ETag"]


def test_a_change_says_whether_the_proxys_file_has_to_be_fetched_again(account, api_of):
    api: ApiClient = api_of(account)
    site = f"/v1/sites/{factories.site(account, host='pub.example', mode='observe').pk}"
    assert "proxyFileChanged" not in api.patch(site, {"name": "Pub"}).body  # nobody has fetched a file
    for fields, is_changed in (
        ({"mode": "enforce"}, True),
        ({"mode": "enforce", "name": "Pub", "robotsTxt": "User-agent: *"}, False),
        ({"aliases": [ALIAS]}, True),
        ({"aliases": [ALIAS], "ask": "everyone"}, True),
        ({"rules": [{"pattern": "/a", "policyId": None}]}, True),
        ({"rules": [{"pattern": "/a", "policyId": None}]}, False),
    ):
        assert api.get(f"{site}/proxy-config?for=nginx").status == 200
        assert (fields, api.patch(site, fields).body.get("proxyFileChanged", False)) == (fields, is_changed)
    assert "proxyFileChanged" not in api.get(site).body


def test_whom_proxies_ask_about_is_a_setting_of_the_site(account, api_of):
    api: ApiClient = api_of(account)
    made = api.post("/v1/sites", {"host": "pub.example"})
    assert made["ask"] == "crawlers"
    assert api.patch(f"/v1/sites/{made['id']}", {"ask": "everyone"})["ask"] == "everyone"
    assert api.patch(f"/v1/sites/{made['id']}", {"ask": "nobody"}).error["param"] == "ask"
