"""Filters of recorded decisions."""

from collections.abc import Callable

from django.db.models import Q
from django.db.models.fields.json import KT
from django.db.models.lookups import In

from kit.rest.filters import (
    ORDER,
    Index,
    Operand,
    OperatorFilterSet,
    boolean,
    choice,
    identifier,
    text,
    timestamp,
)
from kit.values.canonical_pages import both_schemes
from licensing.database_lookups import BeginsWith
from licensing.policies.decision import Reason
from licensing.sites.identification import Identification

ONE_OF = ("eq", "in")


def recorded_fact(name: str) -> Callable[[list[str]], Q]:
    """Return a function that builds conditions on a recorded fact."""
    return lambda values: Q(In(KT(f"facts__{name}"), values))


# Earlier versions recorded pages with the scheme that the proxy reported, so both are looked for.


def is_page(urls: list[str]) -> Q:
    return recorded_fact("url")(sorted(set().union(*map(both_schemes, urls))))


def begins_with(prefix: str) -> Q:
    """Return the condition that the recorded page begins with `prefix`, under http or https."""
    return Q(BeginsWith(KT("facts__url"), sorted(both_schemes(prefix)))) if prefix else Q()


class DecisionFilters(OperatorFilterSet):
    operands = {
        "contentId": Operand(identifier("cnt"), "content_id", index=Index.SORTS),
        "requesterId": Operand(text, "requester__requester_id", index=Index.SORTS),
        "policyId": Operand(identifier("pol"), "policy_id", optional=True),
        "allowed": Operand(boolean),
        "reason": Operand(choice(Reason), optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "url": Operand(text, operators=(*ONE_OF, "prefix"), any_of=is_page, begins_with=begins_with),
        "siteId": Operand(identifier("site"), operators=ONE_OF, any_of=recorded_fact("siteId")),
        "identifiedBy": Operand(choice(Identification), operators=ONE_OF, any_of=recorded_fact("identifiedBy")),
        "referrer": Operand(text, operators=ONE_OF, any_of=recorded_fact("referrer")),
    }
