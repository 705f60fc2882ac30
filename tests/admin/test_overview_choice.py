import re

import pytest
from django.urls import reverse

from tests import factories
from tests.admin.overview import VIEW, check, number, page

pytestmark = pytest.mark.usefixtures("at_noon")


def test_accounts_are_added_up_within_what_one_may_see(admin, busy, other_account, staff, sign_in, account):
    check(other_account, 4)
    assert number(page(admin), "usage-total") == 12
    assert number(page(admin, account=other_account.pk), "usage-total") == 4
    check(other_account, 4)
    client = sign_in(staff(*VIEW, accounts=[account]))
    shown = page(client)
    assert number(shown, "usage-total") == 8
    assert "Other" not in shown.content.decode()


def test_unknown_choices_show_an_alert(admin, busy, staff, sign_in, account, other_account):
    for query in ({"period": "2d"}, {"currency": "XXX"}, {"currency": "\0"}, {"currency": "euro"}):
        shown = page(admin, **query)
        assert 'role="alert"' in shown.content.decode()
        assert number(shown, "usage-total") == 8
    for wanted in ("acc_nonsense", "\0", "the other's"):
        client = sign_in(staff(*VIEW, accounts=[account]))
        shown = page(client, account=other_account.pk if wanted == "the other's" else wanted)
        text = shown.content.decode()
        assert "You cannot see an account with this id." in text
        assert "usage-total" not in text
        assert "Other" not in text


def test_each_part_requires_permission_to_see_its_data(staff, sign_in, account, busy):
    for permission, seen in (
        ("analytics.view_accessevent", ["refused-title", "hand-title", "usage-title"]),
        ("analytics.view_ledgerentry", ["earned-title", "hand-title", "revenue-title"]),
        ("accounts.view_apikey", ["hand-title", "keys-title"]),
        ("accounts.view_account", ["hand-title", "running-title"]),
    ):
        html = page(sign_in(staff(permission, accounts=[account]))).content.decode()
        assert re.findall(r'<h2 id="([a-z-]+)"', html) == seen, permission


def test_a_new_installation_is_told_what_to_do_next(admin, db):
    text = page(admin).content.decode()
    assert "What to do next" in text
    for name in ("accounts_account", "accounts_apikey", "licensing_policy", "licensing_content"):
        assert f'<a href="{reverse(f"admin:{name}_add")}">' in text


def test_steps_that_are_done_are_marked_instead_of_problems(admin, account):
    factories.api_key(account)
    text = page(admin).content.decode()
    assert text.count('<li class="done">') == 2
    assert f'<a href="{reverse("admin:accounts_apikey_add")}">' not in text
    assert "Needs a hand" not in text


def test_an_account_with_decisions_sees_no_first_steps(staff, sign_in, account, clock):
    check(account)
    clock.advance(days=300)
    text = page(sign_in(staff(is_superuser=True)), period="7d").content.decode()
    assert "What to do next" not in text
    assert "Nothing in this period." in text


def test_staff_without_an_account_are_told_who_helps(staff, sign_in, busy):
    assert "You have no accounts yet." in page(sign_in(staff(*VIEW))).content.decode()
