import re
from datetime import timedelta

from django.contrib import admin as django_admin
from django.contrib.auth.models import Group
from django.utils import timezone
from unfold.admin import ModelAdmin

from accounts.models import Account
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from operators.base.links import list_url
from tests import factories

LISTED = [model for model, shown in django_admin.site._registry.items() if isinstance(shown, ModelAdmin)]


def rows(client, model, **query):
    """Return the HTML of each list row."""
    html = client.get(list_url(model, **query)).content.decode()
    return re.findall(r"<tr>(?!<th scope).*?</tr>", html.partition("<tbody>")[2], re.DOTALL)


def classes(row):
    return re.findall(r'<t[hd] class="([^"]*)"', row)


def test_every_list_says_what_its_two_lines_are(admin):
    for model in [model for model in LISTED if model is not Group]:
        shown = django_admin.site._registry[model]
        columns = [name for name in admin.get(list_url(model)).context["cl"].list_display if name != "action_checkbox"]
        first = getattr(shown, "phone_row_title", "") or columns[0]
        facts = shown.phone_row_columns
        assert {first, *facts} <= set(columns), model
        assert 1 <= len(facts) <= 3, model
        assert columns[0] in {first, *facts}  # it is the link to the page


def test_a_row_marks_its_lines(admin, account):
    factories.content(account, title="Who counts", policy_id=factories.policy(account, name="Licensed").pk)
    [row] = rows(admin, Content)
    assert '<th class="field-title row-name"><a class="row-link"' in row
    assert ">Who counts</a></th>" in row
    assert [name for name in classes(row) if "row-fact" in name] == [
        "field-type row-fact fact-1",
        "field-state row-fact fact-2",
        "field-policy row-fact fact-3",
    ]


def test_a_fact_without_a_value_is_no_part_of_the_second_line(admin, account):
    factories.content(account, title="Free")
    [row] = rows(admin, Content)
    assert "field-policy" in row
    assert "field-policy row-fact" not in row


def test_facts_have_their_word_and_rows_lead_on_by_their_first_cell_and_their_name(admin, account):
    factories.policy(account)
    [row] = rows(admin, Policy)
    assert '<td class="field-number_of_items row-fact fact-2" data-word="items:">0</td>' in row
    factories.license(account, "org_acme", license_type="commercial", expires_at=timezone.now() + timedelta(days=1))
    [row] = rows(admin, License)
    assert row.count('class="row-link"') == 2
    [row] = rows(admin, Requester)  # an empty name is no link
    assert row.count('class="row-link"') == 1


def test_a_row_can_be_chosen_for_an_action_by_its_name(admin, account):
    item = factories.content(account, title='A "quoted" <title>')
    [row] = rows(admin, Content)
    assert f'name="_selected_action" value="{item.pk}" class="action-select"' in row
    assert 'aria-label="Select A &quot;quoted&quot; &lt;title&gt;"' in row
    assert "<title>" not in row


def test_every_cell_escapes_markup(admin, account):
    Requester.objects.create(account=account, requester_id="<b>x", name="<script>alert(1)</script>")
    Account.objects.filter(pk=account.pk).update(name="<i>name</i>")
    for model in (Requester, Account):
        assert not re.search(r"<(b|i|script)>", "".join(rows(admin, model)))


def test_a_link_from_a_filtered_list_leads_back_and_the_sorted_column_says_so(admin, account):
    factories.content(account, title="One")
    [row] = rows(admin, Content, status__exact="active")
    assert "_changelist_filters=status__exact" in row
    html = admin.get(list_url(Content, o="1")).content.decode()
    assert 'aria-sort="ascending"' in html
    assert "Remove from sorting" in html
