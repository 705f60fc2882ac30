"""International host names: the service reads them everywhere as browsers do (UTS #46, non-transitional)."""

from pathlib import Path

import orjson
import pytest
from django.core.management import CommandError, call_command

from kit.values.hosts import MAX_HOST, match_host, parse_host
from kit.values.urls import MAX_LABEL, normalise, normalised_host
from tests import factories
from tests.edge.asking import READERS

NAMES = orjson.loads(Path(__file__).with_name("toascii.json").read_bytes())["names"]
# What `new URL("https://…").host` is in browsers.
HOSTS = {
    "straße.example": "xn--strae-oqa.example", "STRASSE.example": "strasse.example",
    "faß.example": "xn--fa-hia.example", "FAẞ.example": "xn--fa-hia.example", "σας.example": "xn--mxa8ab.example",
    "ΣΑΣ.example": "xn--mxa9ab.example", "نامه\u200cای.example": "xn--mgba3gch31f060k.example",
    "ශ්\u200dරී.example": "xn--10cl1a0b660p.example", "Bücher.example。": "xn--bcher-kva.example",
    "日本語。example": "xn--wgv71a119e.example",
}  # fmt: skip


def test_hosts_are_those_that_browsers_send():
    for name, host in HOSTS.items():
        assert (parse_host(name), normalised_host(name)) == (host, host)
        assert normalise(f"https://me@{name}:8443/a") == f"https://{host}:8443/a?"
    for name, host in [one for one in NAMES if one[1] is not None]:
        is_short = all(len(label) <= MAX_LABEL for label in host.split("."))
        assert not is_short or normalised_host(name).replace("%3D", "=") == host
    # The service has narrower rules for names than browsers: those of DNS.
    for name, host in NAMES:
        if host is not None and len(host) <= MAX_HOST and match_host(host):
            assert parse_host(name) == host
        else:
            with pytest.raises(ValueError, match="Must be a host name"):
                parse_host(name)
    for name in ("ß" * 100_000, "a" * 100_000, "ß." * 50_000):
        with pytest.raises(ValueError, match="Must be a host name"):
            parse_host(name)


def test_the_port_of_a_host_may_be_empty(ask, site):
    site(READERS)
    assert ask("/premium/a", x_forwarded_host="pub.example:").status == 200


def test_a_site_an_item_a_key_and_a_log_mean_one_host(ask, api, account, tmp_path, capsys):
    policy = factories.policy(account, READERS)
    rules = [{"pattern": "/*", "policyId": policy.pk}]
    site = api.post("/v1/sites", {"host": "straße.example", "mode": "enforce", "unknown": "deny", "rules": rules})
    assert site["host"] == "xn--strae-oqa.example"
    assert site["verification"]["url"].startswith("https://xn--strae-oqa.example/")
    assert api.get("/v1/sites", host="straße.example")["data"][0]["id"] == site["id"]
    fields = {"name": "Edge", "type": "secret", "permissions": ["access:check"], "allowedHosts": ["straße.example"]}
    key = api.post("/v1/api-keys", fields)
    assert key["allowedHosts"] == ["xn--strae-oqa.example"]
    denied = factories.policy(account, factories.DENY_ALL)
    api.post("/v1/content", {"title": "Item", "source": "https://straße.example/item", "policyId": denied.pk})
    sent = {"x_forwarded_host": "xn--strae-oqa.example", "x_licensing_key": key["key"]}
    assert (ask("/a", **sent).status, ask("/item", **sent).status) == (200, 403)
    assert ask("/a", **{**sent, "x_forwarded_host": "strasse.example"}).error["code"] == "host_not_allowed"
    log = tmp_path / "access.log"
    log.write_text('203.0.113.9 - - [28/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "GPTBot/1.0"\n')
    call_command("import_access_log", str(log), site="Straße.example", dry_run=True)
    assert "Would import 1 of 1 lines" in capsys.readouterr().out
    with pytest.raises(CommandError, match="--site: Must be a host name"):
        call_command("import_access_log", str(log), site="https://straße.example")
