from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.models import SavedFilter
from licensing.content.models import Content
from licensing.licenses.models import License
from operators.base.links import list_url
from operators.base.lists.change_list import BoundedPaginator
from operators.staff.services import create_operator
from tests import factories

LIST = list_url(License)


def listed(client, model, column, direction="", **query):
    """Return the list sorted by the column."""
    columns = client.get(list_url(model)).context["cl"].list_display
    return client.get(list_url(model, o=f"{direction}{columns.index(column)}", **query))


@pytest.fixture
def licenses(account):
    now = timezone.now()
    for name, days, price in (("b", 30, 5), ("a", 20, 10), ("c", 10, 1)):
        terms = {"price_amount": Decimal(price), "price_currency": "EUR", "expires_at": now + timedelta(days=days)}
        factories.license(account, license_type=name, **terms)


def test_licences_are_sorted_by_linked_columns_in_both_directions(admin, licenses):
    for column, order in (("license_type", "abc"), ("term", "cab"), ("price", "cba")):
        found = [held.license_type for held in listed(admin, License, column).context["cl"].result_list]
        assert "".join(found) == order
        found = [held.license_type for held in listed(admin, License, column, "-").context["cl"].result_list]
        assert "".join(found) == order[::-1]

    html = admin.get(LIST).content.decode()
    columns = admin.get(LIST).context["cl"].list_display
    assert f'href="?o={columns.index("term")}"' in html
    assert f'href="?o={columns.index("covers")}"' not in html
    html = admin.get(LIST, {"q": "nobody"}).content.decode()
    assert "yielded" not in html
    assert "Nothing matches" in html


def test_more_than_can_be_paged_through_stay_newest_first_and_say_so(admin, account, monkeypatch):
    monkeypatch.setattr(BoundedPaginator, "MAX_COUNT", 2)
    for title in ("c", "a", "b"):
        factories.content(account, title=title, category="two" if title != "b" else "one")
    reply = listed(admin, Content, "title")
    assert [item.title for item in reply.context["cl"].result_list] == ["b", "a", "c"]
    assert "Narrow the filters to sort them" in reply.content.decode()
    reply = listed(admin, Content, "title", category="two")
    assert [item.title for item in reply.context["cl"].result_list] == ["a", "c"]
    assert "Narrow the filters" not in reply.content.decode()


def save(client, name, query="state=active&license_type=a"):
    return client.post(f"{LIST}?{query}", {"_save_filters": "1", "name": name})


def names(client):
    return [one.name for one, _ in client.get(LIST).context["saved_filters"]]


def test_filters_are_saved_under_a_name_and_lead_back_to_the_list(admin, licenses):
    assert "Save these filters" not in admin.get(LIST).content.decode()
    assert "Save these filters" in admin.get(f"{LIST}?license_type=a").content.decode()
    assert save(admin, "Type a", "license_type=a&state=&p=3").headers["Location"] == f"{LIST}?license_type=a"
    assert '<a href="?license_type=a">Type a</a>' in admin.get(LIST).content.decode()
    shown = admin.get(f"{LIST}?license_type=a").content.decode()
    assert '<a href="?license_type=a" aria-current="true">Type a</a>' in shown
    assert "Save these filters" not in shown


def test_filters_are_saved_for_oneself_on_their_own_list_until_they_are_forgotten(admin, sign_in, account):
    save(admin, "One")
    save(admin, "Two")
    admin.post(LIST, {"_forget_filters": "One"})
    assert names(admin) == ["Two"]
    assert admin.get(list_url(Content)).context["saved_filters"] == []
    viewer = sign_in(create_operator("eve", role="Viewer", accounts=[account])[0])
    assert names(viewer) == []
    save(viewer, "Mine")
    assert names(viewer) == ["Mine"]


def test_saved_filters_have_unique_names_a_limit_and_need_filters(admin, monkeypatch):
    for name, query in (("", "state=active"), ("x", ""), ("\0", "state=active"), ("x", "p=3")):
        assert save(admin, name, query).status_code == 302
        assert not SavedFilter.objects.exists()
    save(admin, "One", "state=active")
    save(admin, "One", "state=expired")
    assert SavedFilter.objects.get().query == "state=expired"
    monkeypatch.setattr("operators.base.lists.saved_filters.MAX_SAVED_FILTERS", 2)
    for name in ("One", "Two", "Three", "Two"):
        save(admin, name)
    assert names(admin) == ["One", "Two"]


def test_an_operator_who_may_not_see_a_list_saves_no_filter_for_it(sign_in, staff, account):
    client = sign_in(staff("licensing.view_content", accounts=[account]))
    assert save(client, "Mine").status_code == 403
    assert not SavedFilter.objects.exists()
