"""/v1/policies/{id}/simulate and /v1/policies/lint: test a draft before saving it."""

from dataclasses import asdict

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import ReadingViewSet
from kit.rest.export import json_report
from licensing.drafts.lint import lint_policy
from licensing.drafts.rendering import present_simulation
from licensing.drafts.serializers import (
    DraftSerializer,
    LintSerializer,
    SimulationBodySerializer,
    SimulationSerializer,
)
from licensing.drafts.simulate import compile_draft, resolve_window, simulate
from licensing.policies.models import Policy

MAX_FINDINGS = 500  # in a reply


class PolicyDraftViewSet(ReadingViewSet[Policy]):
    """Separate from PolicyViewSet, because replaying decisions needs the modules of access checks."""

    permissions_required = {"simulate": ("policies:read", "analytics:read"), "lint": "policies:read"}
    for_secret_keys = heavy = frozenset({"simulate", "lint"})
    queryset = Policy.objects.kept()

    @extend_schema(summary="Simulate a policy", request=SimulationBodySerializer, responses=SimulationSerializer)
    @action(detail=True, methods=["post"])
    def simulate(self, request: Request, id: str) -> Response:
        """Returns how a draft, or the saved policy, would have decided recorded checks of the policy's items.

        Writes and counts nothing. Takes a secret key.
        """
        policy = self.get_object()
        fields = self.validated(SimulationBodySerializer)
        draft = compile_draft(policy, fields)
        now = timezone.now()
        start, end = resolve_window(now, period=fields.get("period"), start=fields.get("start"), end=fields.get("end"))
        limit = fields.get("limit")
        return json_report(lambda: present_simulation(policy, simulate(policy, draft, start, end, limit)))

    @extend_schema(summary="Lint a policy", request=DraftSerializer, responses=LintSerializer)
    @action(detail=False, methods=["post"])
    def lint(self, request: Request) -> Response:
        """Returns findings about rules that their author probably did not intend. Writes nothing.

        Takes a secret key.
        """
        fields = self.validated(DraftSerializer)
        findings = lint_policy(
            self.account_id, fields.get("rules", []), fields.get("default_action", "deny"), timezone.now()
        )
        rows = [asdict(finding) for finding in findings[:MAX_FINDINGS]]
        body: dict[str, object] = {"object": "policy_lint", "findings": rows}
        if len(findings) > MAX_FINDINGS:
            body["truncated"] = True
        return Response(body)
