"""The admin's sidebar: each entry has a view and a permission."""

from typing import TypedDict

from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct


class SidebarEntry(Struct, frozen=True):
    """An entry: `view` is a URL name, `icon` a Material Symbol, `permission` None if it is for everyone."""

    title: str
    view: str
    icon: str
    permission: str | None = None


class Section(Struct, frozen=True):
    title: str
    entries: tuple[SidebarEntry, ...]


SECTIONS = (
    Section("", (SidebarEntry("Overview", "index", "dashboard"),)),
    Section(
        "Access",
        (
            SidebarEntry("Accounts", "accounts_account_changelist", "domain", "accounts.view_account"),
            SidebarEntry("API keys", "accounts_apikey_changelist", "key", "accounts.view_apikey"),
            SidebarEntry(
                "Webhooks", "accounts_webhookendpoint_changelist", "webhook", "accounts.view_webhookendpoint"
            ),
            SidebarEntry("Audit log", "accounts_auditentry_changelist", "history", "accounts.view_auditentry"),
        ),
    ),
    Section(
        "Catalogue",
        (
            SidebarEntry("Content", "licensing_content_changelist", "article", "licensing.view_content"),
            SidebarEntry("Policies", "licensing_policy_changelist", "gavel", "licensing.view_policy"),
            SidebarEntry("Check access", "check_access", "fact_check", "licensing.view_policy"),
            SidebarEntry("Sites", "licensing_site_changelist", "language", "licensing.view_site"),
            SidebarEntry("Crawlers", "visitors", "smart_toy", "analytics.view_accessevent"),
            SidebarEntry("Decisions", "analytics_accessevent_changelist", "rule", "analytics.view_accessevent"),
        ),
    ),
    Section(
        "Customers",
        (
            SidebarEntry("Customers", "licensing_requester_changelist", "person_search", "licensing.view_requester"),
            SidebarEntry("Licences", "licensing_license_changelist", "workspace_premium", "licensing.view_license"),
            SidebarEntry(
                "Licence clients", "licensing_licenseclient_changelist", "badge", "licensing.view_licenseclient"
            ),
            SidebarEntry("Wallets", "analytics_wallet_changelist", "account_balance_wallet", "analytics.view_wallet"),
            SidebarEntry("Payments", "analytics_payment_changelist", "payments", "analytics.view_payment"),
            SidebarEntry("Ledger", "analytics_ledgerentry_changelist", "receipt_long", "analytics.view_ledgerentry"),
            SidebarEntry("Statements", "analytics_statement_changelist", "request_quote", "analytics.view_statement"),
        ),
    ),
    Section(
        "Staff",
        (
            SidebarEntry("Operators", "auth_user_changelist", "group", "auth.view_user"),
            SidebarEntry("Roles", "auth_group_changelist", "badge", "auth.view_group"),
        ),
    ),
)


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
    for section in SECTIONS:
        items: list[ShownEntry] = [
            {"title": entry.title, "icon": entry.icon, "link": reverse(f"admin:{entry.view}")}
            for entry in section.entries
            if entry.permission is None or request.user.has_perm(entry.permission)
        ]
        if items:
            sections.append({"title": section.title, "separator": bool(section.title), "items": items})
    return sections
