"""/v1/policies/{id}/simulate and /v1/policies/lint: what a draft would do, before it is saved."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_view import ReadingPost
from kit.rest.resources import find
from licensing.drafts.lint import lint_policy
from licensing.drafts.rendering import present_simulation
from licensing.drafts.serializers import (
    DraftSerializer,
    LintSerializer,
    SimulationBodySerializer,
    SimulationSerializer,
)
from licensing.drafts.simulate import draft_of, simulate, window_of
from licensing.policies.models import Policy

MAX_FINDINGS = 500  # in a reply


class PolicySimulate(ReadingPost):
    permissions_required = {"POST": ("policies:read", "analytics:read")}
    heavy = frozenset({"POST"})
    serializer_class = SimulationBodySerializer
    queryset = Policy.objects.none()

    @extend_schema(summary="Simulate a policy", responses=SimulationSerializer)
    def post(self, request: Request, id: str) -> Response:  # noqa: A002
        """What recorded decisions on the policy's items would have been by a draft, or by the policy as it is saved.

        Nothing is written or counted.
        """
        policy: Any = find(Policy.objects.of(self.account_id), id)
        fields = self.validated()
        draft = draft_of(policy, fields)
        start, end = window_of(timezone.now(), **{name: fields.get(name) for name in ("period", "start", "end")})
        return Response(present_simulation(policy, simulate(policy, draft, start, end, fields.get("limit"))))


class PolicyLint(ReadingPost):
    permissions_required = {"POST": "policies:read"}
    heavy = frozenset({"POST"})
    serializer_class = DraftSerializer
    queryset = Policy.objects.none()

    @extend_schema(summary="Lint a policy", responses=LintSerializer)
    def post(self, request: Request) -> Response:
        """What these rules say that their author may not have meant. Nothing is refused for it or written."""
        fields = self.validated()
        findings = lint_policy(
            self.account_id, fields.get("rules", []), fields.get("default_action", "deny"), timezone.now()
        )
        shown = [
            {"level": one.level, "code": one.code, "path": one.path, "message": one.message}
            for one in findings[:MAX_FINDINGS]
        ]
        cut = {"truncated": True} if len(findings) > MAX_FINDINGS else {}
        return Response({"object": "policy_lint", "findings": shown, **cut})
