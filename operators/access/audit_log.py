"""The audit log: read-only, searchable by resource."""

import json
from collections import Counter
from difflib import SequenceMatcher

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from accounts.history.people import with_references
from accounts.models import AuditEntry
from operators.base.filters import LocalDateTimeFilter, OptionsFilter, RelatedFilter
from operators.base.links import list_url
from operators.base.model_admin import ScopedAdmin
from operators.base.pages import EmptyState
from operators.base.times import TO_SECOND, shown_time

KINDS = {
    "content": "content",
    "policy": "policies",
    "site": "sites",
    "license": "licences",
    "license_client": "licence clients",
    "requester": "customers",
    "portal_session": "portal links",
    "wallet": "wallets",
    "grant": "credit",
    "payment": "payments",
    "ledger_entry": "the ledger",
    "api_key": "API keys",
    "account": "accounts",
    "webhook_endpoint": "webhooks",
    "event": "events",
    "operator": "operators",
    "role": "roles",
}
# Limits on two values without their common start and end: a comparison takes a second at most.
MAX_LINES = 4_000
MAX_COMPARISONS = 10_000_000  # pairs of equal lines times lines; small unless a line repeats very often
CONTEXT_LINES = 3


def text_lines(value: object) -> list[str]:
    """Return the lines of a text, or of any other value as JSON; none for null."""
    if value is None:
        return []
    if not isinstance(value, str):
        value = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    return value.splitlines()


def difference(before: object, after: object) -> list[tuple[str, str]]:
    """Return lines, each marked "removed", "added", "kept" (context of a change) or "left out"."""
    old = text_lines(before)
    new = text_lines(after)
    sizes = f"{len(old):,} lines before and {len(new):,} after"
    begin = max(common_prefix_length(old, new) - CONTEXT_LINES, 0)
    old = old[begin:]
    new = new[begin:]
    end = max(common_prefix_length(old[::-1], new[::-1]) - CONTEXT_LINES, 0)
    old = old[: len(old) - end]
    new = new[: len(new) - end]
    if len(old) + len(new) > MAX_LINES or count_comparisons(old, new) > MAX_COMPARISONS:
        return [("left out", f"{sizes}, too many to compare here. The API tells them all.")]
    lines: list[tuple[str, str]] = []
    # Without "junk" detection, which would ignore the brackets of long rules and report everything else as changed.
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        if lines or begin + group[0][1] > 0:
            lines.append(("left out", "…"))
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                lines += [("kept", line) for line in old[i1:i2]]
            else:
                lines += [("removed", line) for line in old[i1:i2]] + [("added", line) for line in new[j1:j2]]
    return lines


def common_prefix_length(lines: list[str], others: list[str]) -> int:
    """Return the number of lines that both start with."""
    for index, (line, other) in enumerate(zip(lines, others, strict=False)):
        if line != other:
            return index
    return min(len(lines), len(others))


def count_comparisons(old: list[str], new: list[str]) -> int:
    """Return an upper bound of difflib's steps: for each block it finds, it visits all pairs of equal lines."""
    counts = Counter(new)
    return sum(number * counts[line] for line, number in Counter(old).items()) * min(len(old), len(new))


class KindFilter(OptionsFilter[AuditEntry]):
    title = "what was changed"
    parameter_name = "kind"
    options = KINDS

    def apply_option(self, queryset: QuerySet[AuditEntry], value: str) -> QuerySet[AuditEntry]:
        return queryset.filter(resource_type=value)


def find_by_resource(entries: QuerySet[AuditEntry], term: str) -> QuerySet[AuditEntry]:
    """Search by index; Django would cast the id in every row to text and compare."""
    return entries.filter(with_references("resource_id")([term]))


@admin.register(AuditEntry)
class AuditLogAdmin(ScopedAdmin[AuditEntry]):
    empty_state = EmptyState("Every change by operators, keys and commands is recorded here.")
    list_display = ("when", "actor", "action", "resource", "fields_changed", "account")
    list_select_related = ("account",)
    phone_row_title = "action"
    phone_row_columns = {"resource": "", "actor": "by", "when": ""}
    fieldset_headings = {"action": "What was done", "request_id": "The request"}
    list_filter = (
        KindFilter,
        ("actor_type", ChoicesDropdownFilter),
        ("created", LocalDateTimeFilter),
        ("account", RelatedFilter),
    )
    search_fields = ("resource_id",)
    has_names = False
    search = staticmethod(find_by_resource)
    search_help_text = "The full id of a resource or key: every change of it."
    fields = readonly_fields = (
        "when", "account", "actor", "address", "action", "resource", "everything_on_it", "difference",
        "request_id", "entry",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """Restrict entries without an account, which concern operators, to superusers."""
        entries = super().get_queryset(request)
        return entries if request.user.is_superuser else entries.filter(account_id__isnull=False)

    @display(description="When", ordering="pk")
    def when(self, entry: AuditEntry) -> str:
        return shown_time(entry.created, TO_SECOND)

    @display(description="Who")
    def actor(self, entry: AuditEntry) -> str:
        objects = {
            "key": f"the key {entry.actor_name}",
            "operator": f"{entry.actor_name}, in the admin",
            "command": f"{entry.actor_name or 'somebody'}, by the command {entry.actor_id}",
        }
        return objects.get(entry.actor_type, "the service")

    @display(description="What")
    def resource(self, entry: AuditEntry) -> str:
        return entry.resource_title

    @display(description="Fields")
    def fields_changed(self, entry: AuditEntry) -> str:
        """Return the changed fields of an update; creations and deletions concern all fields."""
        if entry.action.endswith((".created", ".deleted")):
            return ""
        return ", ".join(sorted(entry.changes))

    @display(description="All changes of it")
    def everything_on_it(self, entry: AuditEntry) -> str:
        address = list_url(AuditEntry, q=entry.resource_id, kind=entry.resource_type)
        return format_html('<a class="audit-link" href="{}">{}</a>', address, entry.resource_id)

    @display(description="Entry")
    def entry(self, entry: AuditEntry) -> str:
        return entry.pk

    @display(description="Before and after")
    def difference(self, entry: AuditEntry) -> str:
        fields = [(name, difference(*pair)) for name, pair in sorted(entry.changes.items())]
        return render_to_string("operators/audit_changes.html", {"fields": fields})
