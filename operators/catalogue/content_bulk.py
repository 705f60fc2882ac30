"""Changes to many items at once, after a page that says how many of which accounts they concern."""

from collections import defaultdict
from hashlib import blake2b
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminSelectWidget

from accounts.models import Account
from licensing.content.bulk import CHUNK, change_items
from licensing.content.models import Content, Status
from licensing.policies.models import Policy
from operators.base.frame import page
from operators.base.refusals import REFUSALS, add_refusal, refusal

MOST = 10_000  # items of one change; as many as the list counts
MOST_POLICIES = 500  # to choose from
NO_POLICY = "none"

Chosen = dict[str, list[str]]  # items by account


class BulkForm(forms.Form):
    """What the list's form said, and which items the page was about."""

    action = forms.CharField(widget=forms.HiddenInput)
    index = forms.CharField(widget=forms.HiddenInput, required=False)
    select_across = forms.CharField(widget=forms.HiddenInput, required=False)
    _selected_action = forms.Field(widget=forms.MultipleHiddenInput, required=False)
    concerned = forms.CharField(widget=forms.HiddenInput)


class StatusForm(BulkForm):
    def fields_of(self) -> dict[str, Any]:
        return {"status": Status.ARCHIVED if self.cleaned_data["action"] == "archive" else Status.ACTIVE}


class PolicyForm(BulkForm):
    policy = forms.ChoiceField(widget=UnfoldAdminSelectWidget)

    def fields_of(self) -> dict[str, Any]:
        chosen = self.cleaned_data["policy"]
        return {"policy_id": None if chosen == NO_POLICY else chosen}


def policies_of(account_ids: list[str]) -> list[tuple[str, str]]:
    """To choose from: those of one account, for a policy is of one; none can be taken away from several."""
    choices = [("", "Choose one"), (NO_POLICY, "No policy: every check is denied")]
    if len(account_ids) == 1:
        choices += newest_policies(account_ids[0])
    return choices


def newest_policies(account_id: str) -> list[tuple[str, str]]:
    named = Policy.objects.of(account_id).order_by("-pk").values_list("pk", "name")[:MOST_POLICIES]
    return [(pk, f"{name} ({pk})") for pk, name in named]


def selection_digest(chosen: Chosen) -> str:
    told = ",".join(one for account in sorted(chosen) for one in chosen[account])
    return blake2b(told.encode(), digest_size=16).hexdigest()


def items_of(number: int) -> str:
    return "1 item" if number == 1 else f"{number:,} items"


class BulkChanges:
    """Actions of the list of content."""

    actions = ("archive", "unarchive", "assign_policy")

    @admin.action(description="Archive", permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[Content]) -> HttpResponse | None:
        effects = ["Every check of them is denied as content_archived from the next one on. They can be brought back."]
        return self.change(request, queryset, "Archive", StatusForm, effects)

    @admin.action(description="Bring back from the archive", permissions=["change"])
    def unarchive(self, request: HttpRequest, queryset: QuerySet[Content]) -> HttpResponse | None:
        effects = ["Checks of them are decided by their policies again, from the next one on."]
        return self.change(request, queryset, "Bring back", StatusForm, effects)

    @admin.action(description="Assign a policy", permissions=["change"])
    def assign_policy(self, request: HttpRequest, queryset: QuerySet[Content]) -> HttpResponse | None:
        effects = ["Checks of them are decided by the policy that you choose, from the next one on."]
        return self.change(request, queryset, "Assign a policy to", PolicyForm, effects)

    def change(
        self, request: HttpRequest, queryset: QuerySet[Content], verb: str, form: type[Any], effects: list[str]
    ) -> HttpResponse | None:
        rows = list(queryset.order_by("pk").values_list("pk", "account_id")[: MOST + 1])
        if len(rows) > MOST:
            text = f"More than {MOST:,} items match, which is the most for one change. Filter further, or go by parts."
            messages.error(request, text)
            return None
        chosen: Chosen = defaultdict(list)
        for pk, account_id in rows:
            chosen[account_id].append(pk)
        bound = self.bound(request, form, chosen)
        if bound.is_bound and bound.is_valid():
            if bound.cleaned_data["concerned"] == selection_digest(chosen):
                if self.performed(request, bound, chosen):
                    return None  # to the list, as it was filtered
            else:
                messages.warning(request, "Meanwhile other items match. Look again at how many they are.")
                bound = self.bound(request, form, chosen, anew=True)
        return self.ask(request, verb, chosen, bound, effects)

    def bound(self, request: HttpRequest, form: type[Any], chosen: Chosen, anew: bool = False) -> Any:
        names = ("action", "index", "select_across")
        initial: dict[str, Any] = {name: request.POST.get(name, "") for name in names}
        initial |= {
            ACTION_CHECKBOX_NAME: request.POST.getlist(ACTION_CHECKBOX_NAME),
            "concerned": selection_digest(chosen),
        }
        answered = "concerned" in request.POST and not anew
        made = form(request.POST if answered else None, initial=initial)
        if "policy" in made.fields:
            made.fields["policy"].choices = policies_of(sorted(chosen))
        return made

    @staticmethod
    def performed(request: HttpRequest, form: Any, chosen: Chosen) -> bool:
        try:
            changed = sum(change_items(account, chosen[account], form.fields_of()) for account in sorted(chosen))
        except REFUSALS as error:
            add_refusal(form, refusal(error, {}))
            return False
        unchanged = sum(map(len, chosen.values())) - changed
        also = f" {items_of(unchanged)} had it already." if unchanged else ""
        messages.success(request, f"{items_of(changed)} changed.{also}")
        return True

    def ask(self, request: HttpRequest, verb: str, chosen: Chosen, form: Any, effects: list[str]) -> HttpResponse:
        names = dict(Account.objects.filter(pk__in=chosen).values_list("pk", "name"))
        number = sum(map(len, chosen.values()))
        kept = [
            "Each leaves an entry in the audit log.",
            f"They are changed {CHUNK} at a time: if that is interrupted, the same again does the rest.",
        ]
        return page(
            request,
            self,
            "operators/confirm.html",
            title=f"{verb} {items_of(number)}?",
            facts=[(names[account], items_of(len(chosen[account]))) for account in sorted(chosen)],
            effects=[*effects, *kept],
            button=f"{verb} {items_of(number)}",
            form=form,
            back=request.get_full_path(),
        )
