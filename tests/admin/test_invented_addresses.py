import pytest
from django.contrib import admin as django_admin
from django.urls import reverse

from tests.admin.forms import submit

LISTS = [f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist" for model in django_admin.site._registry]
QUERIES = [
    "account__id__exact=zzz",
    "id__exact=zzz",
    "pk=zzz",
    "q=%00",
    "q=%ED%A0%80",
    "p=99999",
    "p=x",
    "o=1.99.-9",
    "e=1",
]


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("name", ["admin:visitors", *LISTS])
@pytest.mark.parametrize("query", QUERIES)
def test_invented_addresses_cause_no_server_error(admin, name, query):
    assert admin.get(f"{reverse(name)}?{query}").status_code in (200, 302, 400)


@pytest.mark.parametrize("model", ["licensing_content", "licensing_policy", "licensing_license", "accounts_apikey"])
def test_an_account_that_is_no_id_is_an_error_of_its_field(admin, account, model):
    address = reverse(f"admin:{model}_add")
    assert admin.get(address, {"account": "zzz"}).status_code == 200
    for none in ("zzz", account.pk[:-1], "pol_01k9zzzzzzzzzzzzzzzzzzzzzz"):
        reply = submit(admin, address, account=none)
        assert reply.status_code == 200
        assert reply.context["adminform"].form.errors["account"]
