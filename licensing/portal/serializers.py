"""Serializers of portal sessions."""

from rest_framework import serializers

from kit.rest.fields import Array, Choice, Timestamp, Url
from kit.rest.rows import RowSerializer
from licensing.portal.models import PortalSession

LICENSES, WALLETS, STATEMENTS = SCOPES = ("licenses", "wallets", "statements")


class PortalSessionSerializer(RowSerializer):
    """A link with which a requester reads its own licences, credit and statements."""

    object = Choice(choices=["portal_session"], read_only=True)
    requesterId = serializers.CharField(read_only=True)
    scopes = Array(
        child=Choice(choices=list(SCOPES)),
        required=False,
        min_length=1,
        max_length=len(SCOPES),
        help_text="What the pages show; by default everything. `statements` needs `revenue:read`.",
    )
    returnUrl = Url(
        required=False,
        allow_null=True,
        help_text="Where the portal's link back to your site leads.",
    )
    url = serializers.CharField(read_only=True, help_text="The link. Anyone who has it can open the portal, once.")
    expiresAt = Timestamp(read_only=True, help_text="When the link ends. A session lasts 24 hours.")

    attributes = {"requesterId": "requester.requester_id"}

    def show_url(self, session: PortalSession) -> str:
        return str(self.context["url"])
