import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from licensing.content.models import Content
from operators.base.links import change_url, list_url
from operators.base.lists.change_list import BoundedPaginator
from operators.catalogue.uploads import LARGER_FILES
from tests import factories
from tests.admin.every_page import addresses, fill, models
from tests.admin.markup import markup_in, words_of

MOST_QUERIES, MOST_OF_A_LIST = 29, 24
REQUESTER = re.compile(r".{0,40}\brequesters?\b(?!\.\w).{0,40}", re.IGNORECASE)  # not `requester.created`


@pytest.fixture(scope="module")
def filled(for_the_module):
    """Two pages of every resource that is quick to create."""
    with for_the_module():
        account = factories.account()
        for number in range(60):
            factories.api_key(account, name=f"Key {number}")


FORBIDDEN = {
    "scripts of its own": r"<script(?![^>]*\bsrc=)(?![^>]*application/json)",
    "scripts in attributes": r"<[^>]+\son[a-z]+=",
    "things from elsewhere": r'(?:src|href|action)="(?:https?:)?//',
    "deletion in bulk": "delete_selected",
}


def test_no_page_has_what_no_page_may_have_and_all_that_take_files_may_get_large_ones(admin, api, account):
    fill(api, account)
    faults, take_files = {"admin:login": faults_of(Client().get(reverse("admin:login")))}, set()
    for name, address in addresses():
        with CaptureQueriesContext(connection) as asked:
            reply = admin.get(address)
        if reply.status_code != 200 or "text/html" not in reply.headers["Content-Type"]:
            continue
        faults[name] = faults_of(reply)
        if len(asked) > (MOST_OF_A_LIST if name.endswith("changelist") else MOST_QUERIES):
            faults[name].append(f"{len(asked)} queries")
        if 'type="file"' in reply.content.decode():
            take_files.add(f"admin:{name}")
    assert {name: found for name, found in faults.items() if found} == {}
    assert {f"{prefix}changelist" for prefix in models()} | {"licensing_requester_refund"} <= set(faults)
    assert len(faults) > 50
    assert take_files == set(LARGER_FILES)


def faults_of(reply):
    html = reply.content.decode()
    faults = [f"shows {markup}" for markup in markup_in(html)]
    faults += [f"has {what}" for what, part in FORBIDDEN.items() if re.search(part, html)]
    faults += [f"says {said}" for said in REQUESTER.findall(words_of(html))]
    if "script-src 'self';" not in reply.headers["Content-Security-Policy"]:
        faults.append("lets scripts from elsewhere run")
    return faults


def test_a_list_is_counted_as_far_as_people_leaf_and_then_shows_no_count(
    admin, filled, monkeypatch, django_assert_num_queries
):
    address = reverse("admin:accounts_apikey_changelist")
    assert re.search(r"\d+ results", admin.get(address, {"q": "key"}).content.decode())
    monkeypatch.setattr(BoundedPaginator, "MAX_COUNT", 55)
    page = admin.get(address, {"q": "key"}).content.decode()
    assert "more than 55 API keys" in page
    assert not re.search(r"\d+ results", page)

    assert "more than 55 API keys" in admin.get(reverse("admin:accounts_apikey_changelist")).content.decode()
    assert admin.get(f"{reverse('admin:accounts_apikey_changelist')}?digest__startswith=a").status_code == 400


def test_addresses_have_ids_as_they_are(admin, account):
    item = factories.content(account)
    html = admin.get(list_url(Content)).content.decode()
    assert f"/content/{item.pk}/change/" in html
    assert "_5F" not in html + admin.get(change_url(item)).content.decode()
    for number in ("22222222222222222222222222", "01m7x3q0e8f9g2h4j6k8m0n2p4"):
        Content.objects.filter(pk=factories.content(account).pk).update(id=f"cnt_{number}")
        for written in (f"cnt_{number}", f"cnt_5F{number}"):  # as it was written in addresses before
            assert admin.get(f"/admin/licensing/content/{written}/change/").status_code == 200


def test_visitors_sign_in_at_the_login_and_reach_the_overview(db, staff):
    reply = Client().get(reverse("admin:accounts_apikey_changelist"))
    assert reply.status_code == 302
    assert reply.headers["Location"].startswith(reverse("admin:login"))
    user = staff(password="kite-lamp-57-orbit")
    fields = {"username": user.username, "password": "kite-lamp-57-orbit"}
    reply = Client().post(reverse("admin:login"), fields)
    assert (reply.status_code, reply.headers["Location"]) == (302, reverse("admin:index"))
