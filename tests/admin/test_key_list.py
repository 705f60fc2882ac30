from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import ApiKey
from tests import factories

KEYS = reverse("admin:accounts_apikey_changelist")


@pytest.fixture
def keys_of_all_kinds(account):
    now = timezone.now()
    ages = {
        "fresh": {},
        "idle": {"last_used_at": now - timedelta(days=91)},
        "never used": {"created_at": now - timedelta(days=91)},
        "ending": {"expires_at": now + timedelta(days=3, hours=1)},
        "ended": {"expires_at": now - timedelta(days=1)},
        "revoked": {"revoked_at": now, "last_used_at": now - timedelta(days=200)},
    }
    for name, fields in ages.items():
        key, _ = factories.api_key(account, name=name)
        ApiKey.objects.filter(pk=key.pk).update(**fields)


def test_keys_are_filtered_by_their_state_and_the_list_warns(admin, keys_of_all_kinds):
    for query, names in (
        ("attention=unused", {"idle", "never used"}),
        ("attention=expiring", {"ending"}),
        ("state=active", {"fresh", "idle", "never used", "ending"}),
        ("state=expired", {"ended"}),
        ("state=revoked", {"revoked"}),
        ("q=idle", {"idle"}),
    ):
        assert {key.name for key in admin.get(f"{KEYS}?{query}").context["cl"].result_list} == names
    html = admin.get(KEYS).content.decode()
    assert html.count("not used for 90 days") == 3  # two keys, and the filter
    assert "expires in 3 days" in html
