import html
from collections import Counter
from decimal import Decimal
from functools import partial

from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from accounts.keys.authentication import find_grant
from accounts.keys.callers import Use, write_use
from analytics.models import AccessEvent
from kit.outbound.client import Unreachable
from licensing.edge import site_published
from licensing.edge.observed import BROWSERS, PROGRAMS, ObservedFigures
from licensing.edge.proxies import items
from licensing.edge.proxies.files import PROXY_KINDS, proxy_file
from licensing.sites.models import OtherHosts, Site
from licensing.sites.other_hosts import keep_pages
from licensing.sites.refused_proxies import RefusedProxy, note_refused_proxy
from operators.base.links import change_url
from operators.catalogue.site_terms import anonymous_facts, observed_facts
from operators.staff.services import create_operator
from tests import auditlog, factories
from tests.admin.forms import open_form, submit
from tests.edge.asking import READERS

ADD = "/admin/licensing/site/add/"


def page_of(site):
    return reverse("admin:licensing_site_change", args=[site.pk])


def download(admin, site):
    reply = admin.get(reverse("admin:licensing_site_proxy_files", args=[site.pk]), {"for": "nginx"})
    assert reply.status_code == 200


def html_as_text(reply):
    return html.unescape(strip_tags(reply.content.decode()))


def add(admin, account, **fields):
    return submit(admin, ADD, account=account.pk, **{"host": "Pub.example", **fields})


def test_a_site_is_added_with_its_rules(admin, account):
    policy = factories.policy(account)
    reply = add(admin, account, mode="observe", unknown="deny", rules=f"/premium/*   {policy.pk}\n/premium/free/*")
    assert reply.status_code == 302
    [site] = Site.objects.all()
    assert (site.host, site.mode, site.unknown) == ("pub.example", "observe", "deny")
    rules = [{"pattern": "/premium/*", "policyId": policy.pk}, {"pattern": "/premium/free/*", "policyId": None}]
    assert site.rendered_rules == rules
    assert [entry.action for entry in auditlog.entries(resource_id=site.pk)] == ["site.created"]


def test_the_page_shows_what_is_stored_and_saves_nothing_new_by_itself(admin, account):
    site = factories.site(account, {"/premium/*": factories.policy(account), "/free/*": None})
    html = admin.get(page_of(site)).content.decode()
    assert f"/premium/* {site.rendered_rules[0]['policyId']}" in html
    assert "Search engines need a licence for /premium/*" in html
    assert submit(admin, page_of(site)).status_code == 302
    assert [entry.action for entry in auditlog.entries(resource_id=site.pk)] == ["site.created"]


def test_the_page_says_that_items_decide_before_the_patterns(admin, account):
    site = factories.site(account, {"/*": factories.policy(account, READERS)})
    items_first = "Apart from pages with a registered item"
    text = html_as_text(admin.get(page_of(site)))
    assert "Readers may use /*." in text
    assert items_first not in text
    factories.content(account, source=f"https://{site.host}/a")
    assert items_first in html_as_text(admin.get(page_of(site)))


def test_rules_and_mode_of_a_site_are_changed(admin, account):
    site = factories.site(account, {"/a/*": None}, mode="observe")
    assert "The service knows of no download." in admin.get(page_of(site)).content.decode()
    download(admin, site)
    for fields, is_changed in (({"name": "Pub"}, False), ({"mode": "enforce"}, True)):
        assert submit(admin, page_of(site), **fields).status_code == 302
        shown = admin.get(page_of(site)).content.decode()  # in a message and in the field
        assert (fields, shown.count("changed since it was downloaded at")) == (fields, 2 * is_changed)
        assert (fields, ": downloaded at" in shown) == (fields, not is_changed)
    site.refresh_from_db()
    assert (site.mode, site.rendered_rules) == ("enforce", [{"pattern": "/a/*", "policyId": None}])

    site = factories.site(account, {"/a/*": None, "/b/*": None})
    assert submit(admin, page_of(site), rules="/a/*\n/c/*").status_code == 302
    site.refresh_from_db()
    assert [rule["pattern"] for rule in site.rendered_rules] == ["/a/*", "/c/*"]


def test_the_form_shows_why_the_api_refuses_a_site(admin, account):
    factories.site(account, host="taken.example")
    send = partial(open_form(admin, ADD), account=account.pk)
    for fields, complaint in (
        ({"host": "https://pub.example"}, "Must be a host name"),
        ({"rules": "premium/*"}, "Must begin with a slash."),
        ({"rules": "/a pol_nope"}, "There is no policy"),
        ({"rules": "/a Nordlicht"}, "An id begins with pol_. It is in the address of its page."),
        ({"host": "taken.example"}, "already"),
    ):
        reply = send(**{"host": "pub.example", **fields})
        assert reply.status_code == 200, complaint
        assert complaint in reply.content.decode(), complaint
        assert Site.objects.count() == 1, complaint


def test_a_site_is_deleted_after_a_confirmation_of_the_consequences(admin, account):
    site = factories.site(account)
    address = reverse("admin:licensing_site_delete_site", args=[site.pk])
    assert "let through" in admin.get(address).content.decode()
    assert Site.objects.exists()
    assert submit(admin, address).status_code == 302
    assert not Site.objects.exists()


def test_a_viewer_sees_the_rules_and_files_of_its_own_accounts(sign_in, account, other_account):
    viewer = sign_in(create_operator("eve", role="Viewer", accounts=[account])[0])
    site, theirs = (factories.site(owner, {"/premium/*": None}) for owner in (account, other_account))
    assert "/premium/*: no policy" in viewer.get(page_of(site)).content.decode()
    for one, status in ((site, 200), (theirs, 404)):
        address = reverse("admin:licensing_site_proxy_files", args=[one.pk])
        assert viewer.get(address, {"for": "nginx"}).status_code == status


def test_a_site_is_enforced_after_its_observed_denials_and_uncovered_hosts(admin, account):
    site = factories.site(account, {"/a/*": factories.policy(account)}, mode="observe")
    address = reverse("admin:licensing_site_enforce", args=[site.pk])
    html = admin.get(address).content.decode()
    assert "Would have been refused in 30 days" in html
    assert "If a proxy uses a file of this site, download it again afterwards" in html
    download(admin, site)
    assert submit(admin, address).status_code == 302
    assert "are carried out. <p>nginx: changed since it was downloaded at" in admin.get(page_of(site)).content.decode()
    site.refresh_from_db()
    assert site.mode == "enforce"

    report = ObservedFigures(
        total=9_000, payable=1_200, priced=1_000, reasons=[], requesters=[], items=[], at_stake={"EUR": Decimal("2.5")}
    )
    assert ("Revenue at stake", "2.50 EUR (of the newest 1,000)") in observed_facts(report, 12_000)
    assert observed_facts(report, 12_000)[0] == ("Would have been refused in 30 days", "9,000 of 12,000 asked about")


def test_a_count_of_the_newest_anonymous_denials_says_so():
    few = [("Anonymous among them", "9,053 by browsers (people, or programs that pretend), 946 by other programs")]
    assert anonymous_facts(Counter({BROWSERS: 9_053, PROGRAMS: 946})) == few
    [(_, newest)] = anonymous_facts(Counter({BROWSERS: 9_054, PROGRAMS: 946}))
    assert newest.endswith("946 by other programs (of the newest 10,000)")


def test_enforcing_says_how_many_anonymous_denials_may_be_of_people(admin, account):
    site = factories.site(account, {"/a/*": factories.policy(account)}, mode="observe")
    enforce = reverse("admin:licensing_site_enforce", args=[site.pk])
    assert "Anonymous among them" not in html_as_text(admin.get(enforce))
    visitor = factories.requester(account, requester_id="anonymous")
    agents = [
        "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
        "Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
        "curl/8.10",
        "",
    ]
    for agent in agents:
        facts = {"siteId": site.pk, "userAgent": agent}
        AccessEvent.objects.create(
            account=account, content=site.pages, requester=visitor, allowed=True, observed="no_license", facts=facts,
            created=timezone.now(),
        )  # fmt: skip
    text = html_as_text(admin.get(enforce))
    assert "1 by browsers (people, or programs that pretend), 3 by other programs" in text


def test_enforcing_says_which_hosts_no_site_covers(admin, account):
    site = factories.site(account, {"/a/*": None}, mode="observe", host="pub.example")
    enforce = reverse("admin:licensing_site_enforce", args=[site.pk])
    assert "are not covered" not in admin.get(enforce).content.decode()
    keep_pages(account.pk)
    pages = OtherHosts.objects.get().pages
    visitor = factories.requester(account)
    facts = {"url": "https://shop.pub.example/", "mode": "observe"}
    now = timezone.now()
    AccessEvent.objects.create(
        account=account, content=pages, requester=visitor, allowed=True, facts=facts, created=now
    )
    assert "are not covered: shop.pub.example." in admin.get(enforce).content.decode()
    for _ in range(2):
        AccessEvent.objects.create(
            account=account, content=pages, requester=visitor, allowed=True, created=now,
            facts={"url": "https://www.pub.example/", "mode": "observe"},
        )  # fmt: skip
    assert "not covered: www.pub.example, shop.pub.example." in admin.get(enforce).content.decode()
    AccessEvent.objects.filter(facts__url="https://www.pub.example/").delete()
    text = html_as_text(admin.get(page_of(site)))
    assert "for hosts without a site: shop.pub.example. A key with hosts of its own refuses them." in text


def test_aliases_and_whom_proxies_ask_about_are_set(admin, account):
    assert add(admin, account, aliases="WWW.pub.example\nm.pub.example", ask="everyone").status_code == 302
    [site] = Site.objects.all()
    assert (site.ordered_aliases, site.ask) == (["www.pub.example", "m.pub.example"], "everyone")
    assert submit(admin, page_of(site), aliases="m.pub.example", ask="crawlers").status_code == 302
    site = Site.objects.get()
    assert (site.ordered_aliases, site.ask) == (["m.pub.example"], "crawlers")
    reply = add(admin, account, host="other.example", aliases="m.pub.example")
    assert f"The site {site.pk} has the host m.pub.example already." in reply.content.decode()


def test_documents_of_a_site_are_shown_and_checked(admin, account):
    policy = factories.policy(account, name="Licensed only")
    site = factories.site(account, {"/premium/*": policy}, host="pub.example", mode="observe")
    html = admin.get(reverse("admin:licensing_site_terms", args=[site.pk])).content.decode()
    assert "Licensed only" in html
    assert "https://pub.example/premium/*" in html
    assert "tdm-reservation" in html
    assert "Content-Usage" in html
    assert "Crawlers for AI training need a licence for /premium/* and may read all other pages." in html
    assert "in the mode observe" in html
    assert "which the documents leave out" in html
    assert "Readers need a licence for /premium/* and may read all other pages." in html


def test_the_documents_shown_name_the_licence_server_that_crawlers_are_told(admin, account, settings):
    site = factories.site(account, {"/premium/*": factories.policy(account)}, host="pub.example", mode="observe")
    address = reverse("admin:licensing_site_terms", args=[site.pk])
    for base, hosts, server in (
        ("", ["testserver"], None),  # of the admin, not of the site
        ("", ["testserver", ".pub.example"], "http://pub.example/olp"),
        ("https://licensing.example", ["testserver"], "https://licensing.example/olp"),
    ):
        settings.BASE_URL, settings.ALLOWED_HOSTS = base, hosts
        shown = html_as_text(admin.get(address))
        served = Client().get("/license.xml", headers={"Host": "pub.example"}).content.decode()
        for document in (shown, served):
            assert (f'server="{server}"' in document, "server=" in document) == (server is not None,) * 2


def test_the_button_checks_the_documents_that_the_site_publishes_now(admin, account, monkeypatch):
    async def fetch(url):
        raise Unreachable("The name could not be resolved.")

    monkeypatch.setattr(site_published, "fetch", fetch)
    site = factories.site(account, {"/premium/*": factories.policy(account)}, host="pub.example")
    address = reverse("admin:licensing_site_terms", args=[site.pk])
    assert "cannot be read" not in admin.get(address).content.decode()
    page = admin.post(address).content.decode()
    assert "https://pub.example/robots.txt cannot be read: The name could not be resolved." in page


def test_refusal_texts_and_robots_txt_are_set_and_emptied(admin, account):
    site = factories.site(account)
    texts = {"name": "The Daily", "refusal_message": "For subscribers.", "link_label": "Subscribe"}
    submit(admin, page_of(site), **texts, link_url="https://pub.example/abo")
    site.refresh_from_db()
    assert site.refusal_texts == ("The Daily", "For subscribers.", "https://pub.example/abo", "Subscribe")
    submit(admin, page_of(site), **dict.fromkeys(texts, ""), link_url="")
    site.refresh_from_db()
    assert site.refusal_texts == (None,) * 4
    assert [entry.action for entry in auditlog.entries(resource_id=site.pk)][-1] == "site.updated"

    for fields, complaint in (
        ({"link_url": "javascript:alert(1)"}, "Must be an http(s) URL"),
        ({"refusal_message": "a" * 501}, "at most 500 characters"),
        ({"name": "a" * 101}, "101"),
    ):
        reply = submit(admin, page_of(site), **fields)
        assert (reply.status_code, complaint in reply.content.decode()) == (200, True)
        site.refresh_from_db()
        assert site.refusal_texts == (None,) * 4

    submit(admin, page_of(site), robots_txt="User-agent: GPTBot\r\nDisallow: /private/")
    site.refresh_from_db()
    assert site.robots_txt == "User-agent: GPTBot\nDisallow: /private/"
    assert "at most 65536 characters" in submit(admin, page_of(site), robots_txt="#" * 65_537).content.decode()
    submit(admin, page_of(site), robots_txt="")
    site.refresh_from_db()
    assert site.robots_txt is None


def test_the_file_of_each_proxy_is_downloaded(admin, account):
    rules = {
        "/open/*": factories.policy(account, READERS),
        "/a*b*c*d*e*f*g": None,
        "/premium/*": factories.policy(account),
    }
    site = factories.site(account, rules, host="news.example", unknown="allow", mode="enforce")
    address = reverse("admin:licensing_site_proxy_files", args=[site.pk])
    html = admin.get(address).content.decode()
    assert "<li><code>/open/*</code></li>" in html
    assert "<li><code>/a*b*c*d*e*f*g</code>: It needs characters" in html
    assert "/premium/*" not in html
    for proxy, kind in PROXY_KINDS.items():
        assert f'href="?for={proxy}"' in html
        reply = admin.get(address, {"for": proxy})
        assert reply.headers["Content-Disposition"] == f'attachment; filename="{kind.file}"'
        assert b"".join(reply.streaming_content).decode() == proxy_file(site, proxy).content
        for text in (kind.service, kind.origin, kind.key):
            assert f"<code>{text}</code>" in html
            assert text in proxy_file(site, proxy).content
    assert admin.get(address, {"for": "apache"}).status_code == 404
    assert "caddy: downloaded at" in admin.get(address).content.decode()
    factories.content(account, source="https://news.example/open/sold", policy_id=site.ordered_rules[2].policy_id)
    for page in (address, page_of(site)):
        assert "changed since it was downloaded at" in admin.get(page).content.decode()


def test_pages_that_the_file_refuses_for_having_too_many_items_are_named(admin, account, monkeypatch):
    monkeypatch.setattr(items, "MAX_CLOSED_ITEMS", 0)
    site = factories.site(
        account, {"/news/*": factories.policy(account, READERS)}, host="news.example", unknown="deny"
    )
    address = reverse("admin:licensing_site_proxy_files", args=[site.pk])
    every_page = "The proxy refuses every page: people need a licence for all of them."
    refused = "Refused while the service is down, although everybody may read them: /news/*."
    download(admin, site)
    assert refused not in html_as_text(admin.get(page_of(site)))
    factories.content(account, source="https://news.example/news/sold")
    shown = html_as_text(admin.get(address))
    assert "/news/*: 1 of its items are not open to everybody" in shown
    assert every_page not in shown
    assert refused in html_as_text(admin.get(page_of(site)))
    site.rules.all().delete()
    assert every_page in html_as_text(admin.get(address))


def test_the_page_says_which_keys_of_proxies_are_refused_and_when_one_last_asked(
    admin, account, clock, staff, sign_in
):
    site = factories.site(account, host="pub.example")
    html = admin.get(page_of(site)).content.decode()
    assert "None of the account’s latest 5,000 decisions is about it." in html
    assert "none in the last 24 hours" in html

    for name, hosts in (("Old key", []), ("Own key", ["pub.example"]), ("Other key", ["other.example"])):
        text = factories.key_text(account, name=name, allowed_hosts=hosts)
        write_use(Use(find_grant(text), "This API key has been revoked."), clock.now)
    visitor = factories.requester(account)
    for facts in ({"siteId": site.pk}, {"siteId": site.pk, "imported": True}, {"siteId": "site_other"}):
        AccessEvent.objects.create(
            account=account, content=site.pages, requester=visitor, allowed=True, facts=facts, created=clock.now
        )
        clock.advance(minutes=30)
    text = html_as_text(admin.get(page_of(site)))
    assert "Old key" in text
    assert (
        "refused at the edge since 2026-03-04 05:06, last at 2026-03-04 05:06: This API key has been revoked." in text
    )
    assert "Own key" in text
    assert "Other key" not in text
    assert "No proxy has asked since 2026-03-04 05:06." in text

    viewer = sign_in(staff("licensing.view_site", accounts=[account]))
    assert "Own key" not in html_as_text(viewer.get(page_of(site)))
    clock.advance(days=1)
    assert "none in the last 24 hours" in html_as_text(admin.get(page_of(site)))


def test_refusals_end_when_a_proxy_of_the_site_asks_with_a_valid_key(admin, account, clock):
    site, other = (factories.site(account, host=f"{name}.example") for name in ("pub", "other"))
    text = factories.key_text(account, name="Rotated", allowed_hosts=["pub.example"])
    write_use(Use(find_grant(text), "This API key has been revoked."), clock.now)
    fields = {"account": account, "requester": factories.requester(account), "allowed": True}

    def ask(about, **facts):
        facts = {"siteId": about.pk, **facts}
        AccessEvent.objects.create(**fields, content=about.pages, facts=facts, created=clock.now)

    def texts():
        return [html_as_text(admin.get(address)) for address in (page_of(site), "/admin/")]

    clock.advance(minutes=3)
    ask(other)
    ask(site, imported=True)
    assert all("Rotated" in page and "refused at the edge since 2026-03-04 05:06" in page for page in texts())
    assert not any("has asked with" in page for page in texts())
    clock.advance(minutes=1)
    ask(site)
    clock.advance(minutes=5)
    ask(site)
    of_site, overview = texts()
    assert "revoked. A proxy has asked with a valid key since 2026-03-04 05:10." in of_site
    assert "Rotated" not in overview


def test_a_proxy_with_a_wrong_key_is_shown_at_the_site_the_key_and_the_overview(admin, account, clock):
    site = factories.site(account, host="pub.example")
    key, _ = factories.api_key(account, name="Other key", allowed_hosts=["other.example"])
    since = "A proxy that asks about this site is refused since 2026-03-04 05:06, last at 2026-03-04 05:06: "
    for proxy, reason, pages in (
        (RefusedProxy("pub.example"), "The service does not know its key.", (page_of(site), "/admin/")),
        (
            RefusedProxy("pub.example", account.pk, key.pk),
            "Its key is for other hosts.",
            (page_of(site), change_url(key), "/admin/"),
        ),
    ):
        Site.objects.update(refused_at=None)
        note_refused_proxy(proxy, clock.now)
        for page in pages:
            assert f"{since}{reason}" in html_as_text(admin.get(page))
    assert "Other key" in html_as_text(admin.get(page_of(site)))

    clock.advance(minutes=5)
    AccessEvent.objects.create(
        account=account, content=site.pages, requester=factories.requester(account), allowed=True,
        facts={"siteId": site.pk}, created=clock.now,
    )  # fmt: skip
    text = html_as_text(admin.get(page_of(site)))
    assert "this site was refused from 2026-03-04 05:06 to 2026-03-04 05:06: Its key is for other hosts." in text
    assert "A proxy has asked with a valid key since 2026-03-04 05:11." in text
    assert "no proxy is refused now" in html_as_text(admin.get("/admin/"))
    assert since not in html_as_text(admin.get("/admin/"))
    clock.advance(days=1)
    assert "none in the last 24 hours" in html_as_text(admin.get(page_of(site)))


def test_the_page_warns_if_nearly_all_visits_come_from_few_shared_addresses(admin, account, clock):
    site = factories.site(account, host="pub.example")
    visitors = [factories.requester(account) for _ in range(3)]
    warning = "Nearly all of the latest 60 visits came from the networks of 198.51.100.0, 2001:db8:1::. If that"

    def visit(address, visitor):
        facts = {"siteId": site.pk, "ip": address}
        fields = {"requester": visitor, "allowed": True, "facts": facts, "created": clock.now}
        AccessEvent.objects.create(account=account, content=site.pages, **fields)

    for number in range(60):
        visit("203.0.113.9", visitors[0])  # a crawler may have one address
        assert number or "Nearly all" not in html_as_text(admin.get(page_of(site)))
    assert "Nearly all" not in html_as_text(admin.get(page_of(site)))
    AccessEvent.objects.all().delete()
    for number in range(60):
        visit(["198.51.100.0", "198.51.100.7", "2001:db8:1:2::9"][number % 3], visitors[number % 2])
    assert warning in html_as_text(admin.get(page_of(site)))
