"""Changes of many items at once, after a page with their number by account."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from msgspec import Struct

from accounts.models import Account
from kit.http.errors import ApiError
from kit.rest.heavy_mark import heavy
from kit.values.numbers import count_text
from licensing.content.models import Content, Status
from licensing.policies.models import Policy
from operators.base.mixins import EDIT, AdminMixin, StyledForm
from operators.base.pages import page
from operators.base.refusals import REFUSALS, add_refusal, refusal
from operators.base.scope import request_scope
from operators.catalogue.bulk_change import BulkChange

MAX_POLICIES = 500  # to choose from
NO_POLICY = "none"
EFFECTS_OF_ALL = [
    "Each change writes an entry in the audit log.",
    "Many items are changed in steps, with a page that shows the progress.",
    "You can undo it for a day.",
]


class BulkForm(StyledForm, forms.Form):
    """The values of the list's form, and a digest of the items that the page showed."""

    action = forms.CharField(widget=forms.HiddenInput)
    index = forms.CharField(widget=forms.HiddenInput, required=False)
    select_across = forms.CharField(widget=forms.HiddenInput, required=False)
    _selected_action = forms.Field(widget=forms.MultipleHiddenInput, required=False)
    concerned = forms.CharField(widget=forms.HiddenInput)

    def new_value(self) -> tuple[str, str | None]:
        """Return the field to change and its new value."""
        raise NotImplementedError


class ArchiveForm(BulkForm):
    def new_value(self) -> tuple[str, str | None]:
        return "status", Status.ARCHIVED.value


class RestoreForm(BulkForm):
    def new_value(self) -> tuple[str, str | None]:
        return "status", Status.ACTIVE.value


class PolicyForm(BulkForm):
    policy = forms.ChoiceField()

    def offer_policies(self, account_ids: list[str]) -> None:
        """Offer "no policy", and the account's policies if there is only one account."""
        choices = [("", "Choose one"), (NO_POLICY, "No policy: every check is denied")]
        if len(account_ids) == 1:
            choices += newest_policies(account_ids[0])
        self.fields["policy"] = forms.ChoiceField(choices=choices)

    def new_value(self) -> tuple[str, str | None]:
        chosen = self.cleaned_data["policy"]
        if chosen == NO_POLICY:
            chosen = None
        return "policy_id", chosen


def newest_policies(account_id: str) -> list[tuple[str, str]]:
    policies = Policy.objects.of(account_id).order_by("-pk").values_list("pk", "name")[:MAX_POLICIES]
    return [(pk, f"{name} ({pk})") for pk, name in policies]


class Selection(Struct, frozen=True):
    counts: dict[str, int]  # items by account
    digest: str

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str]]) -> "Selection":
        """Build from pairs of item and account."""
        counts: Counter[str] = Counter()
        hasher = blake2b(digest_size=16)
        for item, account in rows:
            counts[account] += 1
            hasher.update(item.encode())
        return cls(dict(sorted(counts.items())), hasher.hexdigest())

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def selected_rows(queryset: QuerySet[Content]) -> Iterator[tuple[str, str]]:
    return queryset.order_by("pk").values_list("pk", "account_id").iterator(10_000)


class BulkChanges(AdminMixin[Content]):
    """Bulk actions of the content list."""

    actions = ("archive", "restore", "assign_policy")

    @admin.action(description="Archive", permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[Content]) -> HttpResponse | None:
        effects = ["Checks of them are denied (content_archived). They can be restored."]
        return self.change(request, queryset, "Archive", ArchiveForm, effects)

    @admin.action(description="Restore from the archive", permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Content]) -> HttpResponse | None:
        effects = ["Checks of them are decided by their policies again."]
        return self.change(request, queryset, "Restore", RestoreForm, effects)

    @admin.action(description="Assign a policy", permissions=["change"])
    def assign_policy(self, request: HttpRequest, queryset: QuerySet[Content]) -> HttpResponse | None:
        effects = ["Checks of them are decided by the policy that you choose."]
        return self.change(request, queryset, "Assign a policy to", PolicyForm, effects)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.bulk_progress)
        return [path("bulk/<str:token>/", view, name="licensing_content_bulk"), *super().get_urls()]

    def change(
        self, request: HttpRequest, queryset: QuerySet[Content], verb: str, form: type[BulkForm], effects: list[str]
    ) -> HttpResponse | None:
        chosen = Selection.from_rows(selected_rows(queryset))
        bound = self.bind_form(request, form, chosen)
        if bound.is_bound and bound.is_valid():
            if bound.cleaned_data["concerned"] != chosen.digest:
                messages.warning(request, "Other items match now. Check the number again.")
                bound = self.bind_form(request, form, chosen, anew=True)
            elif change := self.start_change(request, queryset, verb, bound):
                if not change.is_over:
                    return redirect("admin:licensing_content_bulk", change.upload.token)
                messages.success(request, describe_outcome(change))
                return None  # back to the filtered list
        return self.ask(request, verb, chosen, bound, effects)

    def bind_form(self, request: HttpRequest, form: type[BulkForm], chosen: Selection, anew: bool = False) -> BulkForm:
        names = ("action", "index", "select_across")
        initial: dict[str, object] = {name: request.POST.get(name, "") for name in names}
        initial |= {ACTION_CHECKBOX_NAME: request.POST.getlist(ACTION_CHECKBOX_NAME), "concerned": chosen.digest}
        initial["policy"] = request.POST.get("policy", "")
        answered = "concerned" in request.POST and EDIT not in request.POST and not anew
        bound_form = form(request.POST if answered else None, initial=initial)
        if isinstance(bound_form, PolicyForm):
            bound_form.offer_policies(list(chosen.counts))
        return bound_form

    @staticmethod
    def start_change(
        request: HttpRequest, queryset: QuerySet[Content], verb: str, form: BulkForm
    ) -> BulkChange | None:
        """Start the change and run its first step; None if that failed, with the error in the form."""
        change = BulkChange.begin(request, selected_rows(queryset), verb, *form.new_value())
        try:
            change.step()
        except REFUSALS as error:
            add_refusal(form, refusal(error, {}))
            return None
        return change

    def ask(
        self, request: HttpRequest, verb: str, chosen: Selection, form: BulkForm, effects: list[str]
    ) -> HttpResponse:
        names = dict(Account.objects.filter(pk__in=chosen.counts).values_list("pk", "name"))
        return page(
            request,
            self,
            "operators/confirm.html",
            title=f"{verb} {count_text(chosen.total, 'item')}?",
            facts=[(names[account], count_text(number, "item")) for account, number in chosen.counts.items()],
            effects=effects + EFFECTS_OF_ALL,
            button=f"{verb} {count_text(chosen.total, 'item')}",
            form=form,
            back=request.get_full_path(),
        )

    @heavy
    def bulk_progress(self, request: HttpRequest, token: str) -> HttpResponse:
        """Show the progress of a change. Each POST runs a step; the page's script sends them until it is finished."""
        change = BulkChange.find(request, token)
        if not self.has_change_permission(request):
            raise PermissionDenied
        scope = request_scope(request)
        if change is None or not all(map(scope.includes, change.metadata["accounts"])):
            raise Http404
        if request.method == "POST":
            if "undo" in request.POST:
                change.undo()
            with suppress(ApiError):  # the page shows the error
                change.step()
            return redirect("admin:licensing_content_bulk", token)
        progress = change.progress
        title = f"{change.metadata['verb']} {count_text(change.metadata['forth']['total'], 'item')}"
        return page(
            request,
            self,
            "operators/catalogue/bulk_progress.html",
            title=f"Undo: {title}" if change.is_undoing else title,
            change=change,
            progress=progress,
            outcome=describe_outcome(change) if change.is_over else "",
            items=reverse("admin:licensing_content_changelist"),
        )


def describe_outcome(change: BulkChange) -> SafeString:
    """Describe a finished change, with a link to undo it."""
    changed = change.progress["changed"]
    unchanged = change.progress["done"] - changed
    text = f"{count_text(changed, 'item')} changed."
    why = "had it already."
    if change.is_undoing:
        text = f"{count_text(changed, 'item')} changed back."
        why = "had been changed since, or lost the former policy, and stayed."
    if unchanged:
        text = f"{text} {count_text(unchanged, 'item')} {why}"
    if not change.can_be_undone:
        return format_html("{}", text)
    address = reverse("admin:licensing_content_bulk", args=[change.upload.token])
    return format_html('{} <a class="underline" href="{}">Undo …</a>', text, address)
