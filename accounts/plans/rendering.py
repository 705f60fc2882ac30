"""Accounts in the output of commands."""

from accounts.plans.models import Account
from kit.values.json_values import Rendered
from kit.values.timestamps import render_timestamp


def render_account(account: Account) -> Rendered:
    per_minute, per_day = account.limits
    edge_per_minute, edge_per_day = account.edge_limits
    return {
        "id": account.pk,
        "object": "account",
        "name": account.name,
        "plan": account.plan,
        "requestsPerMinute": per_minute,
        "requestsPerDay": per_day,
        "edgeRequestsPerMinute": edge_per_minute,
        "edgeRequestsPerDay": edge_per_day,
        "unlistedSigners": account.unlisted_signers,
        "unknownHost": account.shown_unknown_host,
        "visitorAddresses": account.visitor_addresses,
        "timeZone": account.time_zone,
        "currency": account.currency,
        "created": render_timestamp(account.created),
    }
