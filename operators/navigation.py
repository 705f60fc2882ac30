"""The admin's sidebar, all of it: each entry names the view it leads to and the permission that shows it."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from msgspec import Struct


class SidebarEntry(Struct, frozen=True):
    """`view` is a name within the admin, `icon` one of Google's Material Symbols, `permission` None for everybody."""

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
            SidebarEntry("Audit log", "accounts_auditentry_changelist", "history", "accounts.view_auditentry"),
        ),
    ),
    Section(
        "Catalogue",
        (
            SidebarEntry("Content", "licensing_content_changelist", "article", "licensing.view_content"),
            SidebarEntry("Policies", "licensing_policy_changelist", "gavel", "licensing.view_policy"),
            SidebarEntry("Decisions", "analytics_accessevent_changelist", "rule", "analytics.view_accessevent"),
        ),
    ),
    Section(
        "Customers",
        (
            SidebarEntry("Requesters", "licensing_requester_changelist", "person_search", "licensing.view_requester"),
            SidebarEntry("Licences", "licensing_license_changelist", "workspace_premium", "licensing.view_license"),
            SidebarEntry("Ledger", "analytics_ledgerentry_changelist", "receipt_long", "analytics.view_ledgerentry"),
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


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """What the member of staff may open, in unfold's shape."""
    sections = []
    for section in SECTIONS:
        items = [
            {"title": entry.title, "icon": entry.icon, "link": reverse(f"admin:{entry.view}")}
            for entry in section.entries
            if entry.permission is None or request.user.has_perm(entry.permission)
        ]
        if items:
            sections.append({"title": section.title, "separator": bool(section.title), "items": items})
    return sections
