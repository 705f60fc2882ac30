"""Accounts in the API and in command output."""

from rest_framework import serializers

from accounts.plans.models import Account
from kit.rest.fields import Timestamp


class AccountSerializer(serializers.Serializer):
    id = serializers.CharField(source="pk")
    object = serializers.CharField(default="account")
    name = serializers.CharField()
    plan = serializers.CharField()
    requestsPerMinute = serializers.SerializerMethodField("per_minute")
    requestsPerDay = serializers.SerializerMethodField("per_day")
    edgeRequestsPerMinute = serializers.SerializerMethodField("edge_per_minute")
    edgeRequestsPerDay = serializers.SerializerMethodField("edge_per_day")
    unlistedSigners = serializers.CharField(source="unlisted_signers")
    unknownHost = serializers.CharField(source="shown_unknown_host")
    visitorAddresses = serializers.CharField(source="visitor_addresses")
    timeZone = serializers.CharField(source="time_zone")
    currency = serializers.CharField()
    created = Timestamp()

    def per_minute(self, account: Account) -> int:
        return account.limits[0]

    def per_day(self, account: Account) -> int:
        return account.limits[1]

    def edge_per_minute(self, account: Account) -> int:
        return account.edge_limits[0]

    def edge_per_day(self, account: Account) -> int:
        return account.edge_limits[1]
