"""The usage report in the OpenAPI document."""

from rest_framework import serializers

from kit.rest.fields import Id


class UsageSummary(serializers.Serializer):
    totalRequests = serializers.IntegerField(min_value=0)
    allowed = serializers.IntegerField(min_value=0)
    denied = serializers.IntegerField(min_value=0)
    uniqueRequesters = serializers.IntegerField(min_value=0)
    uniqueContent = serializers.IntegerField(min_value=0)


class UsageBucket(serializers.Serializer):
    date = serializers.CharField(
        help_text="`YYYY-MM-DD`: a day, a week's Monday, a month's first. An hour's timestamp."
    )
    requests = serializers.IntegerField(min_value=0)
    allowed = serializers.IntegerField(min_value=0)
    denied = serializers.IntegerField(min_value=0)


class UsedContent(serializers.Serializer):
    id = Id("cnt")
    title = serializers.CharField(allow_null=True, help_text="Also of an item that was deleted.")
    requests = serializers.IntegerField(min_value=1)


class ActiveRequester(serializers.Serializer):
    id = serializers.CharField(help_text="The requester's id as the caller gives it.")
    name = serializers.CharField(allow_null=True)
    requests = serializers.IntegerField(min_value=1)


class DenialReason(serializers.Serializer):
    reason = serializers.CharField()
    count = serializers.IntegerField(min_value=1)


class UsageReport(serializers.Serializer):
    summary = UsageSummary()
    timeSeries = UsageBucket(many=True, help_text="All buckets of the window, oldest first; those with nothing too.")
    topContent = UsedContent(many=True, help_text="At most ten, by requests, then by id.")
    topRequesters = ActiveRequester(many=True, help_text="At most ten, by requests, then by id.")
    byDenialReason = DenialReason(many=True, help_text="Adds up to `denied`; the most frequent first.")
