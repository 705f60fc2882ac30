import re
from datetime import timedelta

import pytest

from accounts.events.models import Event
from accounts.limits import events as limit_events
from analytics.models import RuleUsage
from licensing.edge.cookies import MAX_LENGTH, MAX_MARKS, NAME, parse_cookie, signer_for
from licensing.policies import rate_limits
from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("one_reader_per_address")]
FIVE_A_MONTH = {**READERS, "rateLimit": {"requests": 5, "period": "month", "per": "visitor"}}
HOME, OFFICE = "203.0.113.9", "198.51.100.7"


class Browser:
    """A browser that keeps the cookie, unless it rejects cookies."""

    def __init__(self, ask, *, takes_cookies=True, address=HOME, **headers):
        self.ask, self.takes_cookies, self.address, self.headers = ask, takes_cookies, address, headers
        self.cookie = None

    def read(self, uri="/premium/a", **headers):
        sent = {"x_licensing_visitor": self.cookie, "x_forwarded_for": self.address, **self.headers, **headers}
        reply = self.ask(uri, **sent)
        if self.takes_cookies and (found := re.match(rf"{NAME}=([^;]*)", reply.headers.get("Set-Cookie", ""))):
            self.cookie = found[1]
        return reply

    def statuses(self, count, **headers):
        return [self.read(**headers).status for _ in range(count)]


def test_a_reader_reads_five_articles_a_month(ask, site, clock):
    site(FIVE_A_MONTH)
    reader = Browser(ask)
    assert reader.statuses(7) == [200] * 5 + [429, 429]
    reply = reader.read()
    assert told(reply) == (429, "deny", "rate_limit_exceeded")
    assert int(reply.headers["Retry-After"]) > 0
    clock.advance(days=31)
    assert reader.statuses(6) == [200] * 5 + [429]


def test_readers_at_one_address_have_five_each_and_visitors_without_a_cookie_share_theirs(ask, site):
    site(FIVE_A_MONTH)
    readers = [Browser(ask) for _ in range(3)]
    for reader in readers:
        assert reader.read().status == 200
    assert [reader.statuses(5) for reader in readers] == [[200] * 4 + [429]] * 3
    site(FIVE_A_MONTH)
    assert Browser(ask, takes_cookies=False).statuses(6) == [200] * 5 + [429]
    assert Browser(ask, takes_cookies=False, address=OFFICE).read().status == 200
    addresses = [f"2001:db8:1:2::{number:x}" for number in range(1, 8)]
    visitors = [Browser(ask, takes_cookies=False, address=address) for address in addresses]
    assert [one.read().status for one in visitors] == [200] * 5 + [429] * 2


def test_clearing_the_cookie_uses_up_the_address(ask, site):
    """An address may start five times without a cookie, so it reads 25 articles at most."""
    site(FIVE_A_MONTH)
    read = 0
    for _ in range(12):
        reader = Browser(ask)
        read += reader.statuses(6).count(200)
    assert read == 25


@pytest.mark.parametrize(("period", "allowed"), [("minute", 2), ("day", 6), ("month", 6)])
@pytest.mark.usefixtures("clock")
def test_an_address_has_the_allowance_of_many_readers_unless_the_window_is_short(
    ask, site, monkeypatch, period, allowed
):
    monkeypatch.setattr(rate_limits, "READERS_PER_ADDRESS", 3)
    site({**READERS, "rateLimit": {"requests": 2, "period": period, "per": "visitor"}})
    assert Browser(ask, takes_cookies=False).statuses(allowed + 1) == [200] * allowed + [429]
    phones = [Browser(ask, address=OFFICE) for _ in range(allowed)]
    assert [phone.read().status for phone in phones] == [200] * allowed
    assert [phone.statuses(2) for phone in phones] == [[200, 429]] * allowed


def test_the_cookie_is_random_signed_short_for_servers_only_and_not_for_refused_readers(ask, site, account):
    site(FIVE_A_MONTH)
    cookies = [ask("/premium/a", x_forwarded_for=f"192.0.2.{number}").headers["Set-Cookie"] for number in (1, 2)]
    value, *attributes = cookies[0].split("; ")
    assert attributes == ["Path=/", "Max-Age=15552000", "HttpOnly", "SameSite=Lax", "Secure"]
    text = value.removeprefix(f"{NAME}=")
    found = parse_cookie(text, account.pk)
    assert len(text) <= MAX_LENGTH
    assert len(found.id) == 22  # 128 bits in Base64
    assert found.id not in cookies[1]
    assert "192.0.2.1" not in text
    assert "Secure" not in ask("/premium/a", x_forwarded_proto="http").headers["Set-Cookie"]
    site({**READERS, "rateLimit": {"requests": 5, "period": "month"}})
    for uri in ("/premium/a", "/about", "/robots.txt"):
        assert "Set-Cookie" not in ask(uri).headers
    site(FIVE_A_MONTH)
    assert ["Set-Cookie" in ask("/premium/a").headers for _ in range(6)] == [True] * 5 + [False]


def test_an_invented_cookie_counts_for_the_address(ask, site):
    for change in [
        lambda value: value[:-1] + ("A" if value[-1] != "A" else "B"),
        lambda value: ("x" if value[0] != "x" else "y") + value[1:], lambda value: value.replace(".", ""),
        lambda value: value * 3, lambda value: "a.b.c", lambda value: "é", lambda value: ".",
    ]:  # fmt: skip
        site(FIVE_A_MONTH)
        cookie = Browser(ask, address=OFFICE)
        cookie.read()
        forger = Browser(ask, takes_cookies=False, x_licensing_visitor=change(cookie.cookie))
        assert forger.statuses(6) == [200] * 5 + [429]


def test_cookies_of_another_account_or_secret_are_ignored(ask, site, account, settings):
    site(FIVE_A_MONTH)
    reader = Browser(ask)
    reader.read()
    assert parse_cookie(reader.cookie, account.pk) is not None
    assert parse_cookie(reader.cookie, factories.account().pk) is None
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another" * 10
    assert parse_cookie(reader.cookie, account.pk) is not None
    settings.SECRET_KEY_FALLBACKS = []
    assert parse_cookie(reader.cookie, account.pk) is None


def test_proxies_may_send_all_cookies_and_one_that_names_none_has_those_of_its_client_ignored(ask, site):
    site(FIVE_A_MONTH)
    reader = Browser(ask)
    reader.read()
    jar = f"a=b; {NAME}={reader.cookie}; session=xyz"
    assert [ask("/premium/a", cookie=jar).status for _ in range(5)] == [200] * 4 + [429]
    site(FIVE_A_MONTH)
    reader = Browser(ask, address=OFFICE)
    reader.read()
    kept = {"x_licensing_visitor": "", "cookie": f"{NAME}={reader.cookie}"}
    assert [ask("/premium/a", **kept).status for _ in range(6)] == [200] * 5 + [429]


def test_another_rule_counts_the_same_cookie_from_the_start(ask, account):
    folders = {folder: factories.policy(account, FIVE_A_MONTH) for folder in ("/premium/*", "/other/*")}
    factories.site(account, folders, host="pub.example")
    reader = Browser(ask)
    assert reader.statuses(6) == [200] * 5 + [429]
    assert [reader.read("/other/a").status for _ in range(6)] == [200] * 5 + [429]


def test_cookies_of_a_generous_limit_do_not_raise_a_strict_one(ask, account):
    """As without them, an address may start five times."""
    sixty_a_minute = {**READERS, "rateLimit": {"requests": 60, "period": "minute", "per": "visitor"}}
    folders = {"/teasers/*": sixty_a_minute, "/premium/*": FIVE_A_MONTH}
    policies = {folder: factories.policy(account, rule) for folder, rule in folders.items()}
    factories.site(account, policies, host="pub.example")
    readers = [Browser(ask) for _ in range(9)]
    assert [reader.read("/teasers/a").status for reader in readers] == [200] * 9
    assert sum(reader.statuses(6).count(200) for reader in readers) == 25
    assert [reader.read("/teasers/a").status for reader in readers] == [200] * 9


def test_a_cookie_that_a_rule_has_counted_is_good_at_every_address_and_in_the_next_month(ask, site, clock):
    site(FIVE_A_MONTH)
    reader = Browser(ask)
    assert reader.read().status == 200
    for _ in range(5):
        Browser(ask, address=OFFICE).read()
    assert Browser(ask, address=OFFICE).read().status == 429
    reader.address = OFFICE
    assert reader.statuses(5) == [200] * 4 + [429]
    clock.advance(days=31)
    for _ in range(5):
        Browser(ask, address=OFFICE).read()
    assert reader.statuses(6) == [200] * 5 + [429]


def test_a_cookie_is_new_again_half_a_year_after_a_rule_counted_it(ask, site, clock):
    site(FIVE_A_MONTH)
    reader = Browser(ask)
    reader.read()
    before = reader.cookie
    clock.advance(days=30 * 7)
    assert (reader.read().status, reader.cookie != before) == (200, True)
    assert reader.statuses(5) == [200] * 4 + [429]


def test_a_cookie_remembers_the_rules_that_counted_it_last(ask, account):
    folders = {f"/{number}/*": factories.policy(account, FIVE_A_MONTH) for number in range(MAX_MARKS + 1)}
    factories.site(account, folders, host="pub.example")
    reader = Browser(ask)
    for number in range(MAX_MARKS + 1):
        assert "Set-Cookie" in reader.read(f"/{number}/a").headers
        assert len(reader.cookie) <= MAX_LENGTH
    assert "Set-Cookie" not in reader.read(f"/{MAX_MARKS}/a").headers
    assert "Set-Cookie" not in reader.read("/1/a").headers
    assert "Set-Cookie" in reader.read("/0/a").headers


def test_a_cookie_of_an_earlier_version_is_new_to_each_rule(ask, site, account):
    site(FIVE_A_MONTH)
    reader = Browser(ask)
    reader.cookie = signer_for(account.pk).sign("A" * 22 + ".AAAAAAAAAAA")
    first = event(reader.read())
    assert (first.facts["newVisitorId"], "visitorId" in first.facts) == ("A" * 22, False)
    assert event(reader.read()).facts["visitorId"] == "A" * 22


def test_an_identified_visitor_is_counted_across_addresses(ask, site, account, forwards):
    site(FIVE_A_MONTH)
    key = f"Bearer {factories.key_text(account)}"
    addresses = [f"192.0.2.{number}" for number in range(1, 8)]
    replies = [ask("/premium/a", authorization=key, x_forwarded_for=address) for address in addresses]
    assert [reply.status for reply in replies] == [200] * 5 + [429] * 2
    assert "Set-Cookie" not in replies[0].headers
    reader = Browser(ask)
    reader.read()
    key = f"Bearer {factories.key_text(account)}"
    assert reader.statuses(6, authorization=key) == [200] * 5 + [429]
    site({**FIVE_A_MONTH, "priority": 2}, LICENSED)
    reader = Browser(ask)
    assert reader.statuses(6)[-1] == 429
    assert ask("/premium/a", authorization=f"Bearer {factories.key_text(account)}").status == 200


def test_a_verified_crawler_that_is_decided_as_a_reader_has_what_a_faked_one_has(ask, site, crawler_table):
    names = {"AdsBot": "ads", "Linker": "preview", "Feeder": "other", "Trainer": "ai_training"}
    crawler_table(*(
        {"name": name, "class": kind, "operator": "A", "userAgent": name, "addresses": ["192.0.2.0/24"]}
        for name, kind in names.items()
    ))  # fmt: skip
    site({**FIVE_A_MONTH, "permissions": ["read", "ai_training"]})
    for number, name in enumerate(["AdsBot", "Linker", "Feeder"]):
        for address in [f"203.0.113.{number}", "192.0.2.1", "192.0.2.2"]:
            crawler = Browser(ask, takes_cookies=False, address=address, user_agent=f"{name}/1.0")
            assert crawler.statuses(6) == [200] * 5 + [429], (name, address)
    trainers = [Browser(ask, address=f"192.0.2.{number}", user_agent="Trainer/1.0") for number in range(1, 8)]
    assert [trainer.read().status for trainer in trainers] == [200] * 5 + [429] * 2
    assert [trainer.cookie for trainer in trainers] == [None] * 7


def test_an_observing_site_counts_without_refusing_and_records_the_random_id(ask, site):
    site(FIVE_A_MONTH, mode="observe")
    reader = Browser(ask)
    replies = [reader.read() for _ in range(7)]
    assert [reply.status for reply in replies] == [200] * 7
    would = ["rate_limit_exceeded" in reply.headers.get("X-Access-Would", "") for reply in replies]
    assert would == [False] * 5 + [True] * 2
    site(FIVE_A_MONTH)
    reader = Browser(ask)
    first, second = event(reader.read()), event(reader.read())
    assert first.facts["newVisitorId"] == second.facts["visitorId"]
    assert "newVisitorId" not in second.facts
    assert reader.cookie not in str(second.facts)
    Browser(ask).statuses(7)
    limit_events.write_queued()
    assert not Event.objects.filter(type="limit.reached").exists()


def test_a_simulation_of_the_unchanged_policy_reports_no_change(ask, account, api):
    policy = factories.policy(account, FIVE_A_MONTH)
    factories.site(account, {"/premium/*": policy}, host="pub.example")
    factories.content(account, policy_id=policy.pk, source="https://pub.example/premium/a")
    for reader in (Browser(ask), Browser(ask), Browser(ask, takes_cookies=False)):
        reader.statuses(7)
    same = api.post(f"/v1/policies/{policy.pk}/simulate", {})
    assert (same["total"], same["unchanged"]) == (21, 21)
    [rule] = policy.rules
    fewer = {**rule, "rateLimit": {**rule["rateLimit"], "requests": 4}}
    assert api.post(f"/v1/policies/{policy.pk}/simulate", {"rules": [fewer]})["allowedToDenied"] == 3


def test_a_simulation_replays_the_pages_of_a_site_that_have_no_item(ask, account, api):
    policy, other = factories.policy(account, FIVE_A_MONTH), factories.policy(account, FIVE_A_MONTH, name="Other")
    factories.site(account, {"/premium/*": policy, "/open/*": other}, host="pub.example")
    Browser(ask).statuses(7)
    same = api.post(f"/v1/policies/{policy.pk}/simulate", {})
    assert (same["total"], same["unchanged"]) == (7, 7)
    none = {"action": "deny", "conditions": {"default": True}}
    draft = api.post(f"/v1/policies/{policy.pk}/simulate", {"rules": [none]})
    assert (draft["allowedToDenied"], draft["byContent"][0]["title"]) == (5, "Pages of pub.example")
    assert api.post(f"/v1/policies/{other.pk}/simulate", {"rules": [none]})["total"] == 0


def test_a_simulation_gives_an_address_the_allowance_of_many_readers_too(ask, account, api, monkeypatch):
    monkeypatch.setattr(rate_limits, "READERS_PER_ADDRESS", 3)
    policy = factories.policy(account, {**READERS, "rateLimit": {"requests": 2, "period": "month", "per": "visitor"}})
    factories.site(account, {"/premium/*": policy}, host="pub.example")
    factories.content(account, policy_id=policy.pk, source="https://pub.example/premium/a")
    assert Browser(ask, takes_cookies=False).statuses(7) == [200] * 6 + [429]
    same = api.post(f"/v1/policies/{policy.pk}/simulate", {})
    assert (same["total"], same["unchanged"]) == (7, 7)


def test_counts_of_ended_windows_are_deleted(ask, site, clock):
    site(FIVE_A_MONTH)
    Browser(ask).statuses(3)
    assert RuleUsage.objects.count() == 2  # the address, and the cookie
    rate_limits.delete_ended_counts(clock.now)
    assert RuleUsage.objects.count() == 2
    rate_limits.delete_ended_counts(clock.now + timedelta(days=63))
    assert RuleUsage.objects.count() == 0
