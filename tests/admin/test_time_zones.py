import re
from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django import forms
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, StaffTimeZone
from analytics.models import AccessEvent, Wallet
from analytics.wallets.forecast import forecast
from analytics.windows import USAGE
from licensing.content.models import Content
from licensing.licenses.models import License
from operators.base.figures.choice import window_filter
from operators.base.links import change_url, list_url
from operators.base.times import LocalDateTimeField, shown_time, time_in_words
from tests import factories
from tests.admin.forms import form_values, html_of, submit
from tests.source_files import sources

PAGE = "admin:time_zone"
SEEN = datetime(2026, 11, 26, 19, 52, 31, tzinfo=UTC)
BERLIN, KATHMANDU = "Europe/Berlin", "Asia/Kathmandu"


@pytest.fixture
def operator(staff, sign_in):
    """Sign in a superuser with the given time zone."""

    def make(zone):
        user = staff(is_superuser=True)
        StaffTimeZone.objects.create(user=user, name=zone)
        return sign_in(user)

    return make


@pytest.fixture
def decision(account, api, clock):
    """A decision at SEEN, which is the present."""
    clock.set(SEEN.isoformat())
    item = factories.content(account, policy_id=factories.policy(account).pk)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    return AccessEvent.objects.get()


def test_an_operator_sees_the_time_of_their_zone_with_utc_on_hover_or_utc(operator, decision, admin):
    for page in ("list", "page"):
        html = html_of(operator(KATHMANDU), list_url(AccessEvent) if page == "list" else change_url(decision))
        assert (
            '<time datetime="2026-11-26T19:52:31Z" title="2026-11-26 19:52:31 UTC">2026-11-27 01:37:31</time>' in html
        ), page

    assert ">2026-11-26 19:52:31</time>" in html_of(admin, list_url(AccessEvent))
    assert "Time zone: UTC" in html_of(admin, list_url(AccessEvent))
    assert ">2026-11-26 19:52:31</time>" in html_of(operator("Asia/Atlantis"), list_url(AccessEvent))


def test_plain_columns_and_fields_of_a_model_have_utc_on_hover_too(operator, account):
    client, _ = factories.license_client(account)
    type(client).objects.update(created=SEEN)
    for page in (list_url(type(client)), change_url(client)):
        assert 'title="2026-11-26 19:52:31 UTC">2026-11-27 01:37</time>' in html_of(operator(KATHMANDU), page)


def test_sentences_name_the_zone_and_the_end_of_the_calendar_is_in_utc():
    with timezone.override(BERLIN):
        assert time_in_words(SEEN) == "2026-11-26 20:52 CET"
    last = datetime.max.replace(tzinfo=UTC)
    with timezone.override(KATHMANDU):
        assert ">9999-12-31 23:59</time>" in shown_time(last)


def test_an_operator_chooses_a_time_zone(admin, sign_in, staff):
    reply = submit(admin, reverse(PAGE), time_zone=BERLIN)
    assert (reply.status_code, reply.headers["Location"]) == (302, reverse(PAGE))
    html = html_of(admin, reverse(PAGE))
    assert (form_values(html)["time_zone"], "Time zone: Europe/Berlin" in html) == ([BERLIN], True)
    submit(admin, reverse(PAGE), time_zone=KATHMANDU)
    assert "Time zone: Asia/Kathmandu" in html_of(admin, reverse(PAGE))
    assert "Time zone: UTC" in html_of(sign_in(staff(is_superuser=True)), reverse(PAGE))


def test_only_a_known_time_zone_is_stored(admin):
    for zone in ("", "Europe/Atlantis", "../../etc/passwd", "localtime"):
        assert submit(admin, reverse(PAGE), time_zone=zone).status_code == 200, zone
        assert not StaffTimeZone.objects.exists(), zone


def test_only_requests_to_the_admin_have_the_zone(operator, decision, api):
    assert operator(KATHMANDU).get(list_url(AccessEvent)).status_code == 200
    assert timezone.get_current_timezone_name() == "UTC"
    assert api.get(f"/v1/access/decisions/{decision.pk}").body["created"] == "2026-11-26T19:52:31.000000Z"
    assert operator(KATHMANDU).get(reverse("admin:licensing_content_change", args=["cnt_nothing"])).status_code != 200
    assert timezone.get_current_timezone_name() == "UTC"


def test_a_form_takes_local_times_shows_them_again_and_refuses_a_skipped_one(operator, account):
    client = operator(BERLIN)
    fields = {"requester_own_id": "org_acme", "license_type": "press", "confirmed": "1"}
    dates = {"starts_at_0": "2026-06-01", "starts_at_1": "09:00", "expires_at_0": "2030-12-31", "expires_at_1": ""}
    reply = submit(client, reverse("admin:licensing_license_add"), account=account.pk, **fields, **dates)
    assert reply.status_code == 302
    held = License.objects.get()
    assert held.starts_at == datetime(2026, 6, 1, 7, tzinfo=UTC)
    assert held.expires_at == datetime(2030, 12, 31, 23, tzinfo=UTC)  # the end of that day in Berlin
    html = html_of(client, change_url(held))
    shown = form_values(html)
    assert [shown[f"starts_at_{part}"] for part in (0, 1)] == [["2026-06-01"], ["09:00:00"]]
    assert "Europe/Berlin. Empty: now." in html

    fields = {"account": account.pk, "requester_own_id": "org_acme", "license_type": "press"}
    times = {"starts_at_0": "2026-03-29", "starts_at_1": "02:30"}
    html = submit(operator(BERLIN), reverse("admin:licensing_license_add"), **fields, **times).content.decode()
    assert "2026-03-29 02:30 does not exist in Europe/Berlin: the clocks go forward. Choose another time." in html


def test_a_time_that_occurs_twice_needs_its_offset():
    with timezone.override(BERLIN):
        with pytest.raises(forms.ValidationError) as refused:
            LocalDateTimeField().clean(["2026-10-25", "02:30"])
        assert refused.value.messages == [
            "2026-10-25 02:30 occurs twice in Europe/Berlin: the clocks go back. "
            "Write the time as 02:30+02:00 or 02:30+01:00."
        ]
        for hour, text in ((0, "02:30+02:00"), (1, "02:30+01:00")):
            moment = datetime(2026, 10, 25, hour, 30, tzinfo=UTC)
            field = LocalDateTimeField()
            assert field.clean(["2026-10-25", text]) == moment
            assert field.clean([str(part) for part in field.widget.decompress(moment)]) == moment
            assert f">2026-10-25 {text}</time>" in shown_time(moment)


def test_a_day_begins_at_its_first_moment():
    for zone, day, start in (
        (BERLIN, "2026-03-29", datetime(2026, 3, 28, 23, tzinfo=UTC)),
        ("America/Santiago", "2026-09-06", datetime(2026, 9, 6, 4, tzinfo=UTC)),  # midnight is skipped
        ("America/Havana", "2026-11-01", datetime(2026, 11, 1, 4, tzinfo=UTC)),  # midnight occurs twice
    ):
        with timezone.override(zone):
            assert LocalDateTimeField().clean([day, ""]) == start, zone


@pytest.mark.parametrize(("zone", "day"), [("America/Lima", "9999-12-31"), (KATHMANDU, "0001-01-01")])
def test_a_day_outside_the_calendar_is_refused(zone, day):
    with timezone.override(zone), pytest.raises(forms.ValidationError, match="Enter a valid date"):
        LocalDateTimeField().clean([day, "00:30" if day < "1" else "23:30"])


@pytest.mark.parametrize(
    ("start", "end", "next_end"),
    [
        ("2027-01-01", "2027-07-01", "2028-01-01"),
        ("2027-02-01", "2027-03-01", "2027-04-01"),
        ("2027-04-01", "2027-05-01", "2027-06-01"),
        ("2027-07-01", "2027-10-01", "2028-01-01"),
        ("2026-03-01", "2027-03-01", "2028-03-01"),
    ],
)
def test_a_licence_of_whole_months_in_local_time_is_renewed_for_as_many(operator, account, start, end, next_end):
    first, last = (datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(BERLIN)) for day in (start, end))
    held = factories.license(account, starts_at=first.astimezone(UTC), expires_at=last.astimezone(UTC))
    form = operator(BERLIN).get(reverse("admin:licensing_license_renew", args=[held.pk]), follow=True)
    renewal = form_values(form.content.decode())
    assert [renewal[f"expires_at_{part}"] for part in (0, 1)] == [[next_end], ["00:00:00"]]


def test_a_filter_by_day_means_the_local_day(operator, decision):
    for day, number in (("2026-11-26", 0), ("2026-11-27", 1)):
        query = {"created_from_0": day, "created_to_0": day}
        assert len(operator(KATHMANDU).get(list_url(AccessEvent, **query)).context["cl"].result_list) == number, day


def test_a_figure_of_utc_days_links_to_exactly_these(operator, decision):
    window = USAGE.parse({"startDate": "2026-11-26", "endDate": "2026-11-26"}, SEEN, lambda: None)
    with timezone.override(KATHMANDU):
        query = window_filter("created", window)
    assert query == {
        "created_from_0": "2026-11-26",
        "created_from_1": "05:45:00",
        "created_to_0": "2026-11-27",
        "created_to_1": "05:44:59.999999",
    }
    for moment, number in ((window.start, 1), (window.end, 0)):
        AccessEvent.objects.update(created=moment)
        assert len(operator(KATHMANDU).get(list_url(AccessEvent, **query)).context["cl"].result_list) == number


def test_reports_name_the_same_days_for_every_operator(admin, operator, busy):
    def days(client):
        html = html_of(client, reverse("admin:index"))
        return html[html.index(", days of UTC") - 40 : html.index(", days of UTC")]

    assert days(operator("Pacific/Kiritimati")) == days(admin) == days(operator("Pacific/Pago_Pago"))


def test_a_wallets_days_are_the_accounts_for_every_operator(account, clock):
    clock.set("2026-03-03T20:00:00Z")  # already 4 March in Kathmandu
    wallet = Wallet.objects.get(pk=factories.wallet(account, amount="10")["wallet"])
    now = datetime(2026, 3, 5, 12, tzinfo=UTC)
    with timezone.override(KATHMANDU):
        balances = forecast(wallet, now).balances
    assert balances == [(date(2026, 3, day), 10) for day in (3, 4, 5)]
    wallet.account.time_zone = KATHMANDU
    assert forecast(wallet, now).balances == [(date(2026, 3, day), 10) for day in (4, 5)]


def test_the_last_30_days_of_a_customer_are_the_accounts(admin, account, clock):
    clock.set("2026-03-03T20:00:00Z")
    requester = factories.license(account, price_amount=Decimal("12.5"), price_currency="EUR").requester
    clock.set("2026-04-02T18:00:00Z")  # 30 days of UTC later, it is 2 April in both
    Account.objects.filter(pk=account.pk).update(time_zone=KATHMANDU)
    html = html_of(admin, change_url(requester))
    assert "2026-03-04 to 2026-04-02, days of Asia/Kathmandu" in html
    assert "12.50 EUR" in html
    clock.set("2026-04-02T19:00:00Z")
    assert "2026-03-05 to 2026-04-03, days of Asia/Kathmandu" in html_of(admin, change_url(requester))


def test_queries_that_truncate_times_name_their_zone():
    """The active zone would shift the days that reports count."""
    found = []
    for path in sources("kit", "accounts", "licensing", "analytics", "operators"):
        found += re.findall(r"\bTrunc[A-Z]\w*\(.*", path.read_text())
    assert [one for one in found if "tzinfo=" not in one] == []
    assert found


def test_exports_are_in_utc(operator, decision):
    Content.objects.update(created=SEEN)
    client = operator(KATHMANDU)
    for model, name in ((AccessEvent, "analytics_accessevent"), (Content, "licensing_content")):
        assert b"2026-11-26T19:52:31" in b"".join(client.get(reverse(f"admin:{name}_export_items"))), model
