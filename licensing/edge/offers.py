"""Endpoints under /v1/access/offers: the price of access, by tier. They record and charge nothing."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import ReadingViewSet
from kit.http.errors import ApiError, InvalidRequest, ValidationFailed
from kit.rest.bulk import ErrorShown
from kit.rest.fields import Array, Choice, Id, Text, Url, is_http_url
from kit.rest.money import Money
from kit.rest.serializers import StrictSerializer
from kit.values.decimals import from_millionths
from kit.values.faults import Fault, Faults, read_each
from kit.values.json_values import Rendered
from kit.values.urls import URL_SCHEMA
from licensing.access.charging.credits import rehearse_all
from licensing.access.check_values import Check
from licensing.access.deciding import Answer, by_current_ids, decide_check, not_found, strictest_page
from licensing.access.faults import URL_RULE
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import find_requesters
from licensing.access.rendering import present_charge, present_credits
from licensing.access.serializers import ChargeShown, CreditsShown
from licensing.edge.answers import offers_for
from licensing.edge.visitors import ANONYMOUS
from licensing.policies.condition_values import PERMISSION_RULE, PERMISSION_SCHEMA, match_permission
from licensing.policies.decision import Reason
from licensing.policies.offers import Offer

MAX_ITEMS = 100
SELECTORS = {"url": "page", "contentId": "contentId"}


@extend_schema_field(PERMISSION_SCHEMA)
class Permission(Text):
    """A permission name; checked by `build_check` for both endpoints."""


class OfferSerializer(serializers.Serializer):
    """Access for a price, without a licence."""

    licenseType = serializers.CharField(allow_null=True, help_text="The licence type; null if the rule names none.")
    permissions = serializers.ListField(child=serializers.CharField())
    pricePerAccess = ChargeShown()


class AccessOfferSerializer(serializers.Serializer):
    """The price of access now, and the policy's offers."""

    object = Choice(choices=["access_offer"])
    url = serializers.CharField(allow_null=True, help_text="The requested URL.")
    contentId = Id("cnt")
    requesterId = serializers.CharField(allow_null=True, help_text="Null: an unknown requester.")
    permission = serializers.CharField(allow_null=True)
    allowed = serializers.BooleanField(help_text="Whether the access is allowed without buying anything.")
    reason = Choice(choices=[reason.value for reason in Reason], allow_null=True)
    charge = ChargeShown(allow_null=True, help_text="The price under the requester's licence; null if free.")
    policyId = Id("pol", allow_null=True)
    policyVersion = serializers.IntegerField(allow_null=True)
    offers = OfferSerializer(many=True, help_text="In the order of the rules; the edge asks for the first.")
    credits = CreditsShown(required=False, help_text="The wallet that would pay, or that cannot cover the access.")


class BatchedOfferSerializer(AccessOfferSerializer):
    """An entry of a batch; for an unknown item only `object` and `error`."""

    error = ErrorShown(required=False)

    sometimes = frozenset(AccessOfferSerializer().fields) - {"object"}


class OfferListSerializer(serializers.Serializer):
    """The offers of a batch, in the order of the request."""

    object = Choice(choices=["list"])
    data: Any = BatchedOfferSerializer(many=True)
    hasMore = serializers.BooleanField()
    totalCount = serializers.IntegerField()


class PageOrItemSerializer(StrictSerializer):
    """A page or an item: exactly one of the two."""

    example = {"url": "https://news.example/a"}

    url = Url(required=False, help_text="The address of a page, or of a registered item,")
    contentId = Text(max_length=255, required=False, help_text="or an item by its id.")


class OfferBatchSerializer(StrictSerializer):
    """Pages and items, and the requester whose licences apply."""

    items = Array(child=PageOrItemSerializer(), min_length=1, max_length=MAX_ITEMS)
    requesterId = Text(
        max_length=255, required=False, allow_null=True, help_text="The requester whose licences count."
    )
    permission = Permission(required=False, allow_null=True, help_text="What the requester wants to do.")


class OfferViewSet(ReadingViewSet):
    permissions_required = {"offers": "access:check", "offers_batch": "access:check"}
    cache_control = "no-store"
    query_parameters = frozenset({"url", "contentId", "requesterId", "permission"})

    @extend_schema(
        summary="Get the offers for an access",
        parameters=[
            OpenApiParameter("url", URL_SCHEMA, description="The address of a page, or of a registered item,"),
            OpenApiParameter("contentId", str, description="or an item by its id."),
            OpenApiParameter(
                "requesterId", str, description="The requester whose licences count. Default: an unknown requester."
            ),
            OpenApiParameter("permission", PERMISSION_SCHEMA, description="What the requester wants to do."),
        ],
        responses=AccessOfferSerializer,
    )
    @action(detail=False)
    def offers(self, request: Request) -> Response:
        """Returns the price of access, by tier. Records, counts and charges nothing."""
        parameters = {name: values for name, values in request.query_params.items() if values}
        try:
            check = build_check(parameters, parameters, "")
        except Fault as fault:
            raise InvalidRequest(fault.message, param=fault.path) from None
        [rendered] = render_offers(self.account_id, [check], timezone.now())
        if isinstance(rendered, ApiError):
            raise rendered
        return Response(rendered)

    @extend_schema(
        summary="Get the offers for many accesses", request=OfferBatchSerializer, responses=OfferListSerializer
    )
    @action(detail=False, methods=["post"], url_path="offers/batch")
    def offers_batch(self, request: Request) -> Response:
        """Returns offers for up to 100 pages or items. Counts as one request towards the plan's limits."""
        body = self.validated(OfferBatchSerializer)
        try:
            checks = read_each(body["items"], "items", lambda item, path: build_check(item, body, f"{path}."))
        except Fault as first:  # an invalid permission is reported for every item
            once: dict[tuple[str, str], Fault] = {}
            for fault in first.all():
                once.setdefault((fault.path, fault.message), fault)
            raise ValidationFailed.from_faults(once.values()) from None
        results = render_offers(self.account_id, checks, timezone.now())
        data = [
            {"object": "access_offer", "error": result.as_dict()} if isinstance(result, ApiError) else result
            for result in results
        ]
        return Response({"object": "list", "data": data, "hasMore": False, "totalCount": len(data)})


def build_check(item: dict[str, Any], options: dict[str, Any], path: str) -> Check:
    """Build the check for an item. Raises Fault with everything that is wrong with it."""
    faults = Faults()
    selectors = [name for name in SELECTORS if item.get(name)]
    wrong_name = selectors[1] if selectors[1:] else "url"
    faults.expect(len(selectors) == 1, f"{path}{wrong_name}", "Give exactly one of url, contentId.")
    faults.expect(selectors != ["url"] or is_http_url(item["url"]), f"{path}url", URL_RULE)
    permission = options.get("permission")
    faults.expect(permission is None or match_permission(permission) is not None, "permission", PERMISSION_RULE)
    faults.raise_first()
    [name] = selectors
    selector = (SELECTORS[name], item[name])
    return Check(selector, options.get("requesterId") or ANONYMOUS, permission=permission, dry_run=True)


def render_offers(account_id: str, checks: Sequence[Check], now: datetime) -> list[Rendered | ApiError]:
    """Return what each access would cost, in order. Makes a fixed number of queries."""
    items = find_items(account_id, {check.selector for check in checks})
    requesters_by_id = find_requesters(account_id, {check.requester_id for check in checks})
    checks, requesters = by_current_ids(checks, requesters_by_id)
    rendered: list[Rendered | ApiError] = []
    decided: dict[str, dict[int, Answer]] = {}  # by requester and place
    for place, check in enumerate(checks):
        item = items.get(check.selector)
        if item is not None:
            page = strictest_page(check, item, requesters, now)
            answer = decide_check(check, page, requesters[check.requester_id], now)
            decided.setdefault(check.requester_id, {})[place] = answer
    for requester_id, answers in decided.items():
        rehearsed = rehearse_all(list(answers.values()), requesters[requester_id].wallets, now)
        answers.update(zip(answers, rehearsed, strict=True))
    for place, check in enumerate(checks):
        item = items.get(check.selector)
        if item is None:
            error = not_found(check, takes_external_id=False)
            error.param = {"page": "url"}.get(error.param or "", error.param)
            rendered.append(error)
            continue
        answer = decided[check.requester_id][place]
        name, value = check.selector
        rendered.append(
            {
                "object": "access_offer",
                "url": value if name == "page" else None,
                "contentId": answer.content_id,
                "requesterId": None if check.requester_id == ANONYMOUS else check.requester_id,
                "permission": check.permission,
                "allowed": answer.decision.allowed,
                "reason": answer.decision.reason,
                "charge": present_charge(answer.decision),
                "policyId": answer.policy.id if answer.policy else None,
                "policyVersion": answer.policy.version if answer.policy else None,
                "offers": [render_offer(offer) for offer in offers_for(answer)],
                **({"credits": present_credits(answer.credits)} if answer.credits else {}),
            }
        )
    return rendered


def render_offer(offer: Offer) -> Rendered:
    price = Money.shown(from_millionths(offer.price.amount), offer.price.currency)
    return {"licenseType": offer.tier, "permissions": list(offer.rule.permissions), "pricePerAccess": price}
