from django.contrib.auth.models import Group, User
from django.urls import reverse

from licensing.requesters.models import Requester
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import submit


def history_of(obj):
    return reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_history", args=[obj.pk])


def test_a_change_by_the_api_is_in_it_for_those_who_may_see_the_audit_log(admin, account, api, staff, sign_in):
    policy = factories.policy(account, name="Open")
    api.patch(f"/v1/policies/{policy.pk}", {"name": "Closed"})
    assert history_of(policy) in admin.get(change_url(policy)).content.decode()
    assert "policy.updated" in admin.get(history_of(policy), follow=True).content.decode()

    item = factories.content(account)
    client = sign_in(staff("licensing.view_content", accounts=[account]))
    assert history_of(item) not in client.get(change_url(item)).content.decode()
    assert client.get(history_of(item)).status_code == 403


def test_an_operators_history_is_not_that_of_the_role_of_the_same_number(admin):
    user = User.objects.get()
    role, _ = Group.objects.get_or_create(pk=user.pk, defaults={"name": "Reader"})
    submit(admin, change_url(user), email="anna@example.com")
    submit(admin, change_url(role), name="Reader of all")
    html = admin.get(history_of(user), follow=True).content.decode()
    assert "operator.updated" in html
    assert "role.updated" not in html


def test_objects_that_nobody_changes_have_no_history(admin, account):
    requester = Requester.objects.create(account=account, requester_id="org_a")
    assert history_of(requester) not in admin.get(change_url(requester)).content.decode()
    assert admin.get(history_of(requester)).status_code == 404
