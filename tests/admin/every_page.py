"""Every page of the admin, from the site's URL patterns, so new pages are included."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import NoReverseMatch, URLPattern, URLResolver, reverse
from django.utils import timezone

from accounts.models import Account
from analytics.models import ExchangeRate
from licensing.requesters.models import Requester
from tests import factories

# Views that show no page.
DATA = ("jsi18n", "autocomplete", "search", "view_on_site", "suggest", "licensing_license_preview")
FILES = (
    "licensing_content_export_items", "analytics_accessevent_export_items", "analytics_ledgerentry_export_items",
    "analytics_statement_export_items", "analytics_statement_export_lines", "analytics_payment_export_items",
    "licensing_requester_export_items", "revenue_file",
)  # fmt: skip
LEAD_ELSEWHERE = (
    *(f"licensing_{one}_{action}" for one in ("requester", "content") for action in ("issue_license", "check_access")),
    "licensing_requester_statement", "licensing_requester_record_payment",
    "licensing_requester_charge",
    "licensing_license_renew", "licensing_license_duplicate", "analytics_accessevent_again", "switch_account",
    *(f"licensing_license_{action}" for action in ("refund", "adjust")),
    *(f"analytics_{model}_{action}" for model in ("accessevent", "ledgerentry") for action in ("refund", "adjust")),
    "logout", "accounts_apikey_find",
    "analytics_payment_payout", "analytics_payment_record_correctly",
)  # fmt: skip
# Pages of something unfinished: an unsaved form, an uploaded file, a change under way.
UNDER_WAY = (
    "licensing_policy_words", "licensing_policy_draft", "licensing_content_import", "licensing_content_bad_rows",
    "licensing_content_bulk", "licensing_site_log", "accounts_apikey_seen",
)  # fmt: skip
NO_PAGES = frozenset({*DATA, *FILES, *LEAD_ELSEWHERE, *UNDER_WAY})
# Written by nobody.
WRITTEN_BY_NOBODY = ("accounts_auditentry", "analytics_accessevent", "analytics_statement", "licensing_requester")
REFUSED = frozenset(f"{model}_{page}" for model in WRITTEN_BY_NOBODY for page in ("add", "history"))


def patterns() -> Iterator[URLPattern]:
    """Yield the admin site's named URL patterns."""
    for pattern in admin.site.get_urls():
        nested = pattern.url_patterns if isinstance(pattern, URLResolver) else [pattern]
        yield from (one for one in nested if isinstance(one, URLPattern) and one.name)


def names_of_pages() -> set[str]:
    """Return the names of all views that show a page. Only roles have Django's own delete page."""
    names = {str(pattern.name) for pattern in patterns()}
    deletions = {name for name in names if name.endswith("_delete") and name != "auth_group_delete"}
    return names - NO_PAGES - REFUSED - deletions


def models() -> dict[str, type[Model]]:
    """Return the site's models by the prefix of their view names."""
    return {f"{model._meta.app_label}_{model._meta.model_name}_": model for model in admin.site._registry}


def model_of(name: str) -> type[Model] | None:
    return next((model for start, model in models().items() if name.startswith(start)), None)


def newest_of(model: type[Model]) -> str | None:
    """Return the id of the newest object that has a page."""
    rows = model._default_manager.all()
    if any(field.name == "deleted_at" for field in model._meta.fields):
        rows = rows.filter(deleted_at=None)
    found = rows.order_by("-pk").values_list("pk", flat=True).first()
    return None if found is None else str(found)


def addresses() -> Iterator[tuple[str, str]]:
    """Return name and address of every page. Object pages show the newest object, if there is one."""
    wanted = names_of_pages()
    for name in sorted(wanted):
        try:
            yield name, reverse(f"admin:{name}")
            continue
        except NoReverseMatch:
            model = model_of(name)
        newest = newest_of(model) if model is not None else None
        if newest is not None:
            try:
                yield name, reverse(f"admin:{name}", args=[quote(newest)])
            except NoReverseMatch:
                continue  # it names more than an object


def fill(api: Any, account: Account) -> None:
    """Create one of each resource; the newest customer has charges to refund, and a licence that ends soon."""
    named = {"action": "allow", "conditions": {"requesterId": "org_acme", "attributes": {"country": "DE"}}}
    limited = {**factories.ALLOW_LICENSED, "rateLimit": {"requests": 5, "period": "hour"}}
    policy = factories.policy(account, named, limited, factories.DENY_ALL)
    item = factories.content(account, policy_id=policy.pk, tags=["a"])
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_stranger"})
    factories.site(account, {"/a/*": policy})
    factories.endpoint(account)
    terms = {"price_amount": Decimal(100), "price_currency": "EUR", "per_access": "0.05"}
    factories.license(account, expires_at=timezone.now() + timedelta(days=9), **terms)
    factories.license_client(account)
    factories.wallet(account, requester_id="org_acme")
    factories.payment(account, requester_id="org_acme")
    ExchangeRate.objects.create(currency="EUR", day=timezone.now().date() - timedelta(days=1), rate="1.25")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    assert Requester.objects.latest("pk").requester_id == "org_acme"
