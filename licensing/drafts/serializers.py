"""Serializers for simulations and lint."""

from datetime import datetime, timedelta
from typing import Unpack

from rest_framework import serializers

from analytics.windows import ALL, PERIODS
from kit.rest.fields import Choice, Id, Integer, Timestamp, TimestampOptions
from kit.rest.money import Money
from kit.rest.serializers import StrictSerializer
from kit.values.timestamps import match_date, parse_timestamp
from licensing.drafts.simulate import MAX_DECISIONS
from licensing.policies.decision import Reason
from licensing.policies.lint import CODE_LEVELS, LEVELS
from licensing.policies.rules import ACTIONS
from licensing.policies.serializers import RulesField


def parse_last(text: str) -> datetime:
    """Return the exclusive end for an inclusive one: the next midnight for a date, else one microsecond later."""
    moment = parse_timestamp(text)
    try:
        return moment + (timedelta(days=1) if match_date(text) else timedelta(microseconds=1))
    except OverflowError:
        return moment


class LastMoment(Timestamp):
    """The inclusive end of a period."""

    def __init__(self, **options: Unpack[TimestampOptions]) -> None:
        super().__init__(**options)
        self.parse = parse_last


class DraftSerializer(StrictSerializer):
    """The fields of a policy draft."""

    rules = RulesField(required=False)
    defaultAction = Choice(
        choices=ACTIONS,
        required=False,
        source="default_action",
        help_text="What decides where no rule matches. Default: `deny`, in a simulation that of the policy.",
    )


class SimulationBodySerializer(DraftSerializer):
    """The body of a simulation. Fields missing from the draft are taken from the saved policy."""

    period = Choice(
        choices=[*PERIODS, ALL], required=False, help_text="Whole UTC days that end today. Default: `30d`."
    )
    startDate = Timestamp(required=False, source="start", help_text="Overrides `period`. Inclusive.")
    endDate = LastMoment(required=False, source="end", help_text="Inclusive. A date means the whole day.")
    limit = Integer(
        min_value=1,
        max_value=MAX_DECISIONS,
        required=False,
        help_text=f"The newest so many decisions are replayed. Default: {MAX_DECISIONS:,}.",
    )


class ReasonCount(serializers.Serializer):
    reason = Choice(choices=[reason.value for reason in Reason])
    before = serializers.IntegerField(min_value=0)
    after = serializers.IntegerField(min_value=0)


class MovedRequester(serializers.Serializer):
    id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    total = serializers.IntegerField(min_value=0)
    allowedToDenied = serializers.IntegerField(min_value=0)
    deniedToAllowed = serializers.IntegerField(min_value=0)


class MovedContent(serializers.Serializer):
    id = Id("cnt")
    title = serializers.CharField()
    total = serializers.IntegerField(min_value=0)
    allowedToDenied = serializers.IntegerField(min_value=0)
    deniedToAllowed = serializers.IntegerField(min_value=0)


class Verdict(serializers.Serializer):
    allowed = serializers.BooleanField()
    reason = Choice(choices=[reason.value for reason in Reason], allow_null=True)


class SimulatedVerdict(Verdict):
    matchedRule = serializers.IntegerField(
        allow_null=True, help_text="Index of the rule; null for the default action."
    )


class ChangedDecision(serializers.Serializer):
    decisionId = Id("dec")
    contentId = Id("cnt")
    requesterId = serializers.CharField()
    created = Timestamp()
    before = Verdict()
    after = SimulatedVerdict()


class SimulationSerializer(serializers.Serializer):
    """How a policy would have decided recorded checks."""

    object = Choice(choices=["policy_simulation"])
    policyId = Id("pol")
    policyVersion = serializers.IntegerField(allow_null=True, help_text="Null if a draft was simulated.")
    startDate = Timestamp()
    endDate = Timestamp(help_text="Inclusive.")
    since = Timestamp(allow_null=True, help_text="The first decision that was counted.")
    truncated = serializers.BooleanField(help_text="Whether the window has older decisions, before `since`.")
    total = serializers.IntegerField(min_value=0)
    unchanged = serializers.IntegerField(min_value=0, help_text="Allowed before and after, or denied both times.")
    allowedToDenied = serializers.IntegerField(min_value=0)
    deniedToAllowed = serializers.IntegerField(min_value=0)
    reasonChanged = serializers.IntegerField(min_value=0, help_text="Unchanged denials with a different reason.")
    byReason = ReasonCount(many=True)
    byRequester = MovedRequester(many=True, help_text="The ten with the most changes.")
    byContent = MovedContent(many=True, help_text="The ten with the most changes.")
    revenueAtStake = Money(many=True, help_text="The charges of decisions that would be denied.")
    examples = ChangedDecision(many=True, help_text="The newest five of each kind of change.")


class FindingShown(serializers.Serializer):
    level = Choice(choices=LEVELS)
    code = Choice(choices=list(CODE_LEVELS))
    path = serializers.CharField(help_text="For example `rules[0].conditions`.")
    message = serializers.CharField()


class LintSerializer(serializers.Serializer):
    """Findings about a policy that its author probably did not intend."""

    object = Choice(choices=["policy_lint"])
    findings = FindingShown(many=True)
    truncated = serializers.BooleanField(required=False, help_text="Whether there are more findings than returned.")
