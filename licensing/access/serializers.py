"""Serializers of decisions (docs/reference/api.md). Bodies of checks are in licensing.access.bodies."""

from rest_framework import serializers

from kit.rest.bulk import ErrorShown
from kit.rest.fields import Choice, Id, Timestamp
from kit.rest.money import Amount
from licensing.policies.decision import Reason
from licensing.policies.facts import SHOWN
from licensing.policies.rules import ACTIONS, PERIODS
from licensing.policies.serializers import fact_fields
from licensing.sites.identification import Identification


class MatchedRule(serializers.Serializer):
    index = serializers.IntegerField(min_value=0, help_text="Index in the policy's list, from 0.")
    priority = serializers.IntegerField(allow_null=True)
    action = Choice(choices=ACTIONS)


class LicenseBehind(serializers.Serializer):
    id = Id("lic", allow_null=True)
    licenseType = serializers.CharField(allow_null=True)
    expiresAt = Timestamp(allow_null=True)
    source = Choice(choices=["service", "caller", "offer"])  # type: ignore[assignment]


class RuleRateLimit(serializers.Serializer):
    requests = serializers.IntegerField()
    period = Choice(choices=PERIODS)
    remaining = serializers.IntegerField()
    reset = serializers.IntegerField(help_text="Unix seconds.")
    retryAfter = serializers.IntegerField(allow_null=True, help_text="Seconds, if the limit is used up.")


class FailedCondition(serializers.Serializer):
    condition = serializers.CharField()
    wanted = serializers.JSONField()
    saw = serializers.JSONField(allow_null=True)


class TraceStep(serializers.Serializer):
    index = serializers.IntegerField()
    priority = serializers.IntegerField(allow_null=True)
    action = Choice(choices=ACTIONS)
    matched = serializers.BooleanField()
    decisive = serializers.BooleanField(help_text="Whether this is the first rule that matched.")
    failed = FailedCondition(
        allow_null=True,
        help_text="The condition that did not hold. Of the decisive rule `permissions`, if it allows and does not "
        "grant the permission that was asked for.",
    )


class RequesterShown(serializers.Serializer):
    """The requester of a decision. Recorded decisions include the facts that the caller sent."""

    id = serializers.CharField()
    name = serializers.CharField(allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        return {**super().get_fields(), **fact_fields(SHOWN["requester"])}


class ContextShown(serializers.Serializer):
    def get_fields(self) -> dict[str, serializers.Field]:
        return {**super().get_fields(), **fact_fields(SHOWN["context"])}


class ChargeShown(serializers.Serializer):
    amount = Amount(help_text="An exact decimal.")
    currency = serializers.CharField(help_text="ISO 4217, such as `EUR`.")
    refunded = Amount(required=False, help_text="Only for a single recorded decision: the refunded amount.")
    refundable = Amount(required=False, help_text="Only for a single recorded decision: the amount still refundable.")


class CreditsShown(serializers.Serializer):
    """The wallet that pays for an access and its remaining balance. For a denial: the amounts required and
    available.
    """

    walletId = Id("wal")
    unit = serializers.CharField(help_text="ISO 4217, or `access`.")
    remaining = Amount(required=False, help_text="The amount left to spend: the balance minus the floor.")
    available = Amount(required=False, help_text="The amount that could be spent.")
    nextRefillAt = Timestamp(required=False, allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add `required`, which cannot be declared above because every serializer has that attribute."""
        costs = Amount(required=False, help_text="The price of the access, which the wallet cannot cover.")
        return {**super().get_fields(), "required": costs}


class ObservedDenial(serializers.Serializer):
    """The denial that enforcing the policy and its site would have produced."""

    allowed = serializers.BooleanField(help_text="Always false.")
    reason = Choice(choices=[reason.value for reason in Reason])


class DecisionSerializer(serializers.Serializer):
    """An access decision and its reasons."""

    object = Choice(choices=["access_decision"])
    id = Id("dec", allow_null=True, help_text="Null for a dry run, which leaves no record.")
    allowed = serializers.BooleanField()
    reason = Choice(choices=[reason.value for reason in Reason], allow_null=True, help_text="Null if allowed.")
    message = serializers.CharField(allow_null=True, help_text="The rule's.")
    contentId = Id("cnt")
    requester = RequesterShown()
    permission = serializers.CharField(allow_null=True, help_text="The requested permission, if any.")
    permissions = serializers.ListField(child=serializers.CharField())
    policyId = Id("pol", allow_null=True)
    policyVersion = serializers.IntegerField(allow_null=True)
    matchedRule = MatchedRule(allow_null=True, help_text="Null for the default action.")
    license = LicenseBehind(allow_null=True)
    rateLimit = RuleRateLimit(allow_null=True)
    charge = ChargeShown(allow_null=True, help_text="The price of the access; null if free.")
    credits = CreditsShown(required=False, help_text="The wallet that pays, or that cannot cover the access.")
    cacheFor = serializers.IntegerField(
        min_value=0, help_text="Seconds for which the decision can be cached. 0: check each access."
    )
    dryRun = serializers.BooleanField()
    created = Timestamp()
    context = ContextShown(  # type: ignore[assignment]
        required=False, help_text="Only for recorded decisions: the requester as given in the check."
    )
    keyId = Id(
        "key",
        required=False,
        allow_null=True,
        help_text="With `expand=key`: the API key that made the check. Null if there was none.",
    )
    url = serializers.CharField(
        required=False, help_text="Only for visits to a site: the page, without port and query."
    )
    siteId = Id("site", required=False, allow_null=True, help_text="Only for visits: the site of the host, if any.")
    identifiedBy = Choice(
        choices=[one.value for one in Identification],
        required=False,
        help_text="Only for visits: how the visitor was identified.",
    )
    referrer = serializers.CharField(
        required=False, allow_null=True, help_text="Only for readers' visits: the host of the page that linked here."
    )
    imported = serializers.BooleanField(
        required=False,
        help_text="Only for visits: whether it was imported from a log, and so never refused or charged.",
    )
    observed = ObservedDenial(
        required=False, help_text="The denial, if the decision would have been one. The site or policy only observes."
    )
    token = serializers.CharField(
        required=False,
        help_text="With `sign`: the decision as a compact JWS; `/.well-known/jwks.json` has the keys.",
    )
    trace = TraceStep(many=True, required=False, help_text="With `explain`, and for a recorded decision.")
    traceTruncated = serializers.BooleanField(
        required=False, help_text="Whether the trace leaves out some of the evaluated rules."
    )

    unlisted = frozenset({"trace"})


class BatchedDecisionSerializer(DecisionSerializer):
    """A decision of a batch. One that failed has `error`, and otherwise only `object` and `allowed`."""

    correlationId = serializers.CharField(required=False)
    error = ErrorShown(required=False)

    sometimes = frozenset(DecisionSerializer().fields) - {"object", "allowed"}
