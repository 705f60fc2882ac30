"""What content, policies and decisions can be filtered by (contract §7, §10)."""

from analytics.models import AccessEvent
from config.api.filters import (
    ORDER,
    Operand,
    OperatorFilterSet,
    boolean,
    choice,
    day,
    identifier,
    integer,
    text,
    timestamp,
)
from licensing.decisions import Reason
from licensing.license_serializers import STATES
from licensing.models import Action, Content, ContentType, License, Policy, Status


class ContentFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("cnt")),
        "type": Operand(choice(ContentType)),
        "status": Operand(choice(Status)),
        "externalId": Operand(text, "external_id"),
        "policyId": Operand(identifier("pol"), "policy_id"),
        "title": Operand(text),
        "source": Operand(text),
        "tags": Operand(text, lookup="has"),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
        "metadata.author": Operand(text, "author"),
        "metadata.category": Operand(text, "category"),
        "metadata.publishedAt": Operand(day, "published_at", ORDER),
        "metadata.wordCount": Operand(integer, "word_count", ORDER),
    }

    class Meta:
        model = Content
        fields: list[str] = []


class PolicyFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("pol")),
        "name": Operand(text),
        "defaultAction": Operand(choice(Action), "default_action"),
        "version": Operand(integer, operators=ORDER),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = Policy
        fields: list[str] = []


class LicenseFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("lic")),
        "requesterId": Operand(text, "requester__requester_id"),
        "licenseType": Operand(text, "license_type"),
        "status": Operand(choice(STATES), "derived_status"),
        "startsAt": Operand(timestamp, "starts_at", ORDER),
        "expiresAt": Operand(timestamp, "expires_at", ORDER),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = License
        fields: list[str] = []


class DecisionFilters(OperatorFilterSet):
    operands = {
        "contentId": Operand(identifier("cnt"), "content_id"),
        "requesterId": Operand(text, "requester__requester_id"),
        "policyId": Operand(identifier("pol"), "policy_id"),
        "allowed": Operand(boolean),
        "reason": Operand(choice(Reason)),
        "created": Operand(timestamp, operators=ORDER),
    }

    class Meta:
        model = AccessEvent
        fields: list[str] = []
