import re

from django.contrib import admin as django_admin
from django.urls import reverse

from accounts.models import ApiKey
from operators.base.links import change_url
from operators.base.model_admin import ScopedAdmin
from operators.staff.services import create_operator
from tests import factories

GROUPED = [
    shown
    for shown in django_admin.site._registry.values()
    if isinstance(shown, ScopedAdmin) and shown.fieldset_headings
]


def headings(client, address):
    html = client.get(address).content.decode()
    return [" ".join(text.split()) for text in re.findall(r"<fieldset.*?<h2[^>]*>(.*?)<", html, re.DOTALL)]


def test_forms_and_pages_have_their_groups_in_order(admin, sign_in, account):
    assert headings(admin, reverse("admin:accounts_apikey_add")) == [
        "What it may do",
        "Addresses, hosts, limit and expiry",
    ]

    key, _ = factories.api_key(account)
    viewer = sign_in(create_operator("eve", role="Viewer", accounts=[account])[0])
    assert headings(viewer, change_url(key)) == [
        "Addresses, hosts, limit and expiry",
        "The key",
        "What it may do",
        "Since",
    ]


def test_a_group_without_fields_has_no_heading(rf, staff):
    shown = django_admin.site._registry[ApiKey]
    request = rf.get("/")
    request.user = staff("accounts.view_apikey")
    assert all(options["fields"] for _, options in shown.get_fieldsets(request))


def test_every_group_begins_with_a_field_that_some_form_of_it_has(rf, staff):
    request = rf.get("/")
    request.user = staff(is_superuser=True)
    for shown in GROUPED:
        fields = set(shown.readonly_fields) | set(shown.fields or ())
        for given in (shown.fieldsets, getattr(shown, "add_fieldsets", ())):
            fields |= {field for _, options in given or () for field in options["fields"]}
        in_words = {"may", "addresses", "mode"}
        assert set(shown.fieldset_headings) <= fields | in_words, shown
