import pytest

from licensing.policies.models import Policy
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import open_form
from tests.admin.policy_forms import html_of, save


@pytest.fixture
def policy(account):
    return factories.policy(account)


def test_attributes_and_hours_are_written_as_text(admin, policy):
    typed = {
        "rules-0-attributes": "country = DE, AT\r\nseats >= 10\r\ntrial = false",
        "rules-0-schedule": "Mon-Fri 09:00-18:00 Europe/Berlin",
    }
    assert save(admin, policy, **typed).status_code == 302
    conditions = Policy.objects.get(pk=policy.pk).rules[0]["conditions"]
    assert conditions["attributes"] == {"country": ["DE", "AT"], "seats": {"gte": 10}, "trial": False}
    assert conditions["schedule"] == {
        "days": ["mon", "tue", "wed", "thu", "fri"],
        "from": "09:00",
        "to": "18:00",
        "timeZone": "Europe/Berlin",
    }
    html = html_of(admin.get(change_url(policy)))
    assert "country is DE or AT and seats is at least 10 and trial is false" in html
    assert "it is mon-fri 09:00-18:00 in Europe/Berlin" in html


def test_malformed_values_are_reported_at_their_fields(admin, policy):
    send = open_form(admin, change_url(policy))
    for name, typed, message in (
        ("rules-0-attributes", "country: DE", "Write a line for each attribute"),
        ("rules-0-attributes", "seats < x", "Must be a number"),
        ("rules-0-schedule", "mon 9 to 5", "Write days, hours and a time zone"),
        ("rules-0-attributes", f"country = {'D' * 50_000}", "Must have at most 50,000 characters."),
        ("rules-0-schedule", "mon 09:00-18:00 Berlin", "Did you mean Europe/Berlin?"),
    ):
        html = html_of(send(_save="Save", **{name: typed}))
        assert message in html.partition(f'id="error_{name}"')[2].partition("<")[0], typed
