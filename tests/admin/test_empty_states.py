from django.contrib import admin as django_admin
from django.urls import reverse
from django.utils.html import strip_tags

from licensing.content.models import Content
from operators.base.links import list_url
from operators.base.model_admin import ScopedAdmin
from tests import factories
from tests.admin.forms import html_of

EMPTY = {
    model: shown.empty_state for model, shown in django_admin.site._registry.items() if isinstance(shown, ScopedAdmin)
}


def test_an_empty_list_describes_its_purpose_and_links_to_the_next_step(admin, db):
    for model, state in EMPTY.items():
        if model._meta.managed:  # statements are a view
            model._default_manager.all().delete()
        html = html_of(admin, list_url(model))
        assert "Nothing here yet" in html, model
        assert state.text in html, model
        if state.view:
            assert f'<a class="text-link" href="{reverse(f"admin:{state.view}")}">{state.label}</a>' in html, model
            assert admin.get(reverse(f"admin:{state.view}")).status_code == 200, model


def test_every_list_has_words_of_its_own():
    texts = [state.text for state in EMPTY.values()]
    assert len(set(texts)) == len(texts)


def test_empty_lists_show_only_links_that_lead_on(staff, sign_in, account, admin):
    client = sign_in(staff("licensing.view_content", accounts=[account]))
    html = html_of(client, list_url(Content))
    assert EMPTY[Content].text in html
    assert "Import a file" not in html
    html = html_of(admin, reverse("admin:visitors"))
    assert "No visitors in this period" in html
    assert f'href="{reverse("admin:licensing_site_add")}">Add a site</a>' in html


def test_lists_emptied_by_filters_or_the_chosen_account_say_so(admin, account, other_account):
    factories.content(account, title="Tide table")
    html = html_of(admin, list_url(Content), q="nothing of that kind")
    assert "Nothing matches" in html
    assert EMPTY[Content].text not in html
    assert "Reset filters" in html

    factories.content(account, title="Tide table")
    admin.get(reverse("admin:index"), {"account": other_account.pk})
    assert "Only data of the selected account is shown" in strip_tags(html_of(admin, list_url(Content)))
    admin.get(reverse("admin:index"), {"account": ""})
    assert "Tide table" in html_of(admin, list_url(Content))
