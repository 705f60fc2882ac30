"""A policy's versions: the changes of each in words, and rollback."""

from django import forms
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from unfold.decorators import action

from licensing.policies import services as policy_services
from licensing.policies.models import Policy, PolicyRevision
from operators.base.fields import Values
from operators.base.forms.confirmation import Confirmation, confirm
from operators.base.model_admin import ServiceAdmin
from operators.base.pages import page
from operators.policies.descriptions import describe_with_place, rule_name
from operators.policies.differences import Line, differences
from operators.policies.linked_items import effects_on_users

PAGE = 20
MAX_CHARACTERS = 1_000_000  # per page, unless a single version is longer


class RollbackForm(forms.Form):
    """`now` is the version that the page compared with, so that submitting twice creates one version."""

    now = forms.IntegerField(widget=forms.HiddenInput)


class PolicyVersions(ServiceAdmin[Policy]):
    """The pages for versions and rollback."""

    @action(description="Versions", icon="history", permissions=["view"], url_path="versions")
    def versions(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """List versions, newest first, by pages: `?before=N` continues before version N."""
        policy = self.require_object(request, object_id)
        revisions = PolicyRevision.objects.filter(policy=policy).order_by("-version")
        before = request.GET.get("before", "")
        if before.isdecimal() and len(before) < 10:
            revisions = revisions.filter(version__lt=int(before))
        rows = list(revisions[: PAGE + 1])
        more = len(rows) > PAGE
        lines_by_revision: list[tuple[PolicyRevision, list[Line]]] = []
        room = MAX_CHARACTERS
        # None: nothing precedes the first version
        for revision, earlier in zip(rows[:PAGE], [*rows[1:], None], strict=False):
            lines = changed_lines(earlier, revision)
            room -= sum(len(line.before) + len(line.after) for line in lines)
            if lines_by_revision and room < 0:
                more = True
                break
            lines_by_revision.append((revision, lines))
        return page(
            request,
            self,
            "operators/policies/policy_versions.html",
            title=f"Versions of {policy.name}",
            original=policy,
            versions=lines_by_revision,
            older=lines_by_revision[-1][0].version if more else None,
            can_roll_back=self.has_change_permission(request, policy),
        )

    def rollback(self, request: HttpRequest, object_id: str, version: int) -> HttpResponse:
        policy = self.require_object(request, object_id)
        if not self.has_change_permission(request, policy):
            raise PermissionDenied
        revision = PolicyRevision.objects.filter(policy=policy, version=version).first()
        if revision is None or version == policy.version:
            raise Http404

        @transaction.atomic
        def perform(fields: Values) -> str:
            locked = self.locked(policy)
            if locked is None:
                raise ValidationError("The policy was deleted.")
            if fields["now"] != locked.version:
                raise ValidationError(
                    f"Meanwhile it is version {locked.version}. Open this page again to see what would change now."
                )
            saved = policy_services.rollback_policy(locked, version)
            return f"{saved.name} is back at version {version}, as its new version {saved.version}."

        lines = [line for line in differences(policy, revision) if line.kind != "same"]
        asked = Confirmation(
            title=f"Roll {policy.name} back to version {version}?",
            facts=[("Account", str(policy.account)), ("Version now", str(policy.version))],
            effects=[
                *effects_on_users(policy, "the next checks use the former rules."),
                f"It becomes version {policy.version + 1}. All versions are kept.",
                *(line_text(line) for line in lines),
            ],
            button=f"Roll back to version {version}",
            form=RollbackForm,
            initial={"now": policy.version},
            perform=perform,
        )
        return confirm(request, self, policy, asked)


def changed_lines(earlier: PolicyRevision | None, later: PolicyRevision) -> list[Line]:
    """Return a version's changes; for the first, everything."""
    if earlier is None:
        return [
            Line("added", "Mode", after=later.mode),
            Line("added", "Otherwise", after=later.default_action),
            *(
                Line("added", rule_name(index), after=describe_with_place(rule))
                for index, rule in enumerate(later.rules)
            ),
        ]
    return [line for line in differences(earlier, later) if line.kind != "same"]


def line_text(line: Line) -> str:
    if line.kind == "added":
        return f"{line.what} comes back: {line.after}"
    if line.kind == "removed":
        return f"{line.what} goes: {line.before}"
    return f"{line.what}, now: {line.before} Then: {line.after}"
