from django.urls import reverse

from accounts.models import Account
from accounts.plans import services
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import form_values, submit
from tests.client import ApiClient

ADD = reverse("admin:accounts_account_add")


def plan(account):
    return reverse("admin:accounts_account_change_plan", args=[account.pk])


def test_limits_that_do_not_fit_the_plan_are_refused_with_a_reason(admin, account):
    for fields in ({"plan": "enterprise"}, {"plan": "starter", "requests_per_minute": "5"}):
        reply = submit(admin, ADD, name="New", **fields)
        assert "An enterprise account, and no other, has limits of its own." in reply.content.decode()
        assert not Account.objects.filter(name="New").exists()
    reply = submit(admin, plan(account), plan="starter")
    assert "An enterprise account, and no other, has limits of its own." in reply.content.decode()
    account.refresh_from_db()
    assert account.plan == "enterprise"
    account = factories.account(plan="starter")
    reply = submit(admin, plan(account), edge_requests_per_day="500")
    assert "Only an enterprise account has edge limits of its own" in reply.content.decode()


def test_another_plan_is_asked_about_and_holds_from_the_next_request_on(admin):
    account = factories.account(plan="starter")
    api = ApiClient(factories.key_text(account))
    assert api.get("/v1/content").headers["X-RateLimit-Limit"] == "60"
    assert "The new limits apply from the next request on" in admin.get(plan(account)).content.decode()
    assert submit(admin, plan(account), plan="professional").status_code == 302
    assert api.get("/v1/content").headers["X-RateLimit-Limit"] == "300"


def test_an_enterprise_account_gets_its_own_limits_which_no_stale_form_undoes(admin, account):
    assert "1,000,000 questions of proxies a minute, 10,000,000 a day" in admin.get(plan(account)).content.decode()
    assert submit(admin, plan(account), edge_requests_per_minute="500").status_code == 302
    account.refresh_from_db()
    assert account.edge_limits == (500, 10_000_000)

    opened = form_values(admin.get(plan(account)).content.decode())
    services.update_account(account, {"requests_per_minute": 7})
    assert "while you had it open" in admin.post(plan(account), {**opened, "requests_per_day": "9"}).content.decode()
    account.refresh_from_db()
    assert account.limits == (7, 1_000_000)


def test_an_account_gets_another_name_and_nothing_else(admin, account):
    epoch = account.epoch
    assert submit(admin, change_url(account), name="Renamed", plan="starter").status_code == 302
    account.refresh_from_db()
    assert (account.name, account.plan) == ("Renamed", "enterprise")
    assert account.epoch > epoch


def test_the_settings_of_an_account_are_chosen_in_forms(admin):
    settings = {
        "time_zone": "Europe/Berlin", "currency": "EUR", "unknown_host": "deny", "visitor_addresses": "full",
        "unlisted_signers": "pay",
    }  # fmt: skip
    assert submit(admin, ADD, name="New", plan="professional", **settings).status_code == 302
    made = Account.objects.get(name="New")
    assert made.limits == (300, 100_000)
    assert {name: getattr(made, name) for name in settings} == settings
    assert submit(admin, change_url(made), time_zone="Asia/Tokyo", unknown_host="allow").status_code == 302
    made.refresh_from_db()
    assert (made.time_zone, made.unknown_host, made.currency) == ("Asia/Tokyo", "allow", "EUR")
