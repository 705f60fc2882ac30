"""The admin's pages, in the order of its sidebar: what registers them, their URLs and their permissions."""

from typing import TypedDict

from django.contrib.admin import AdminSite
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest
from django.urls import URLPattern, path, reverse
from django.utils.module_loading import import_string
from msgspec import Struct

from operators.base.scope import CHECK_PERMISSIONS


class Page(Struct, frozen=True):
    """A page: `icon` is a Material Symbol, `name` its URL's name; who lacks one of `permissions` does not see it.

    `module` registers the ModelAdmin that serves it. Without a model, `view` is the path of the function that does; it
    takes the request and the site.
    """

    title: str
    icon: str
    name: str
    permissions: tuple[str, ...] = ()
    module: str = ""
    view: str = ""


def model_page(title: str, icon: str, model: str, module: str) -> Page:
    """Return the list of a model, which is named as in "accounts.apikey"."""
    app, model_name = model.split(".")
    return Page(title, icon, f"{app}_{model_name}_changelist", (f"{app}.view_{model_name}",), module=module)


SECTIONS = {
    "": [Page("Overview", "dashboard", "index")],
    "Access": [
        model_page("Accounts", "domain", "accounts.account", "operators.access.accounts"),
        model_page("API keys", "key", "accounts.apikey", "operators.access.api_keys"),
        model_page("Webhooks", "webhook", "accounts.webhookendpoint", "operators.access.webhooks"),
        model_page("Audit log", "history", "accounts.auditentry", "operators.access.audit_log"),
    ],
    "Catalogue": [
        model_page("Content", "article", "licensing.content", "operators.catalogue.content"),
        model_page("Policies", "gavel", "licensing.policy", "operators.policies.pages"),
        Page(
            "Check access",
            "fact_check",
            "check_access",
            CHECK_PERMISSIONS,
            view="operators.policies.check_access.check_access",
        ),
        model_page("Sites", "language", "licensing.site", "operators.catalogue.sites"),
        Page(
            "Crawlers",
            "smart_toy",
            "visitors",
            ("analytics.view_accessevent",),
            view="operators.catalogue.visitors.visitors_page",
        ),
        model_page("Decisions", "rule", "analytics.accessevent", "operators.catalogue.decisions"),
    ],
    "Customers": [
        model_page("Customers", "person_search", "licensing.requester", "operators.customers.customers"),
        model_page("Licences", "workspace_premium", "licensing.license", "operators.licenses.pages"),
        model_page("Licence clients", "badge", "licensing.licenseclient", "operators.licenses.clients"),
        model_page("Wallets", "account_balance_wallet", "analytics.wallet", "operators.customers.wallets"),
        model_page("Payments", "payments", "analytics.payment", "operators.customers.payments"),
        model_page("Ledger", "receipt_long", "analytics.ledgerentry", "operators.customers.ledger"),
        model_page("Statements", "request_quote", "analytics.statement", "operators.customers.statements"),
    ],
    "Staff": [
        model_page("Operators", "group", "auth.user", "operators.staff.pages"),
        model_page("Roles", "badge", "auth.group", "operators.staff.pages"),
    ],
}
PAGES = [page for pages in SECTIONS.values() for page in pages]


def pages_without_model(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns of the pages that have a view of their own."""
    patterns = []
    for page in PAGES:
        if page.view:
            guard = permission_required(page.permissions, raise_exception=True)
            view = site.admin_view(guard(import_string(page.view)))
            patterns.append(path(f"{page.name.replace('_', '-')}/", view, {"site": site}, name=page.name))
    return patterns


class ShownEntry(TypedDict):
    title: str
    icon: str
    link: str


class ShownSection(TypedDict):
    title: str
    separator: bool
    items: list[ShownEntry]


def sidebar(request: HttpRequest) -> list[ShownSection]:
    """Return the pages that the member of staff may open, in unfold's format."""
    sections: list[ShownSection] = []
    for title, pages in SECTIONS.items():
        items: list[ShownEntry] = [
            {"title": page.title, "icon": page.icon, "link": reverse(f"admin:{page.name}")}
            for page in pages
            if request.user.has_perms(page.permissions)
        ]
        if items:
            sections.append({"title": title, "separator": bool(title), "items": items})
    return sections
