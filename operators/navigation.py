"""The admin's sidebar: each entry has a view and a permission."""

from typing import TypedDict

from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct


class SidebarEntry(Struct, frozen=True):
    """An entry: `icon` is a Material Symbol, `view` a URL name, `permission` None if it is for everyone."""

    title: str
    icon: str
    view: str
    permission: str | None = None


def list_entry(title: str, icon: str, app: str, model: str) -> SidebarEntry:
    return SidebarEntry(title, icon, f"{app}_{model}_changelist", f"{app}.view_{model}")


SECTIONS = {
    "": [SidebarEntry("Overview", "dashboard", "index")],
    "Access": [
        list_entry("Accounts", "domain", "accounts", "account"),
        list_entry("API keys", "key", "accounts", "apikey"),
        list_entry("Webhooks", "webhook", "accounts", "webhookendpoint"),
        list_entry("Audit log", "history", "accounts", "auditentry"),
    ],
    "Catalogue": [
        list_entry("Content", "article", "licensing", "content"),
        list_entry("Policies", "gavel", "licensing", "policy"),
        SidebarEntry("Check access", "fact_check", "check_access", "licensing.view_policy"),
        list_entry("Sites", "language", "licensing", "site"),
        SidebarEntry("Crawlers", "smart_toy", "visitors", "analytics.view_accessevent"),
        list_entry("Decisions", "rule", "analytics", "accessevent"),
    ],
    "Customers": [
        list_entry("Customers", "person_search", "licensing", "requester"),
        list_entry("Licences", "workspace_premium", "licensing", "license"),
        list_entry("Licence clients", "badge", "licensing", "licenseclient"),
        list_entry("Wallets", "account_balance_wallet", "analytics", "wallet"),
        list_entry("Payments", "payments", "analytics", "payment"),
        list_entry("Ledger", "receipt_long", "analytics", "ledgerentry"),
        list_entry("Statements", "request_quote", "analytics", "statement"),
    ],
    "Staff": [
        list_entry("Operators", "group", "auth", "user"),
        list_entry("Roles", "badge", "auth", "group"),
    ],
}


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
    for title, entries in SECTIONS.items():
        items: list[ShownEntry] = [
            {"title": entry.title, "icon": entry.icon, "link": reverse(f"admin:{entry.view}")}
            for entry in entries
            if entry.permission is None or request.user.has_perm(entry.permission)
        ]
        if items:
            sections.append({"title": title, "separator": bool(title), "items": items})
    return sections
