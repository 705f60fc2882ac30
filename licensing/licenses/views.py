"""/v1/licenses (contract §11)."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_view import AccountListView, AccountView
from kit.rest.resources import find
from licensing.licenses import services
from licensing.licenses.filters import LicenseFilters
from licensing.licenses.models import License
from licensing.licenses.serializers import LicenseSerializer, RevocationSerializer


class LicenseView(AccountView):
    serializer_class: Any = LicenseSerializer
    queryset = License.objects.none()
    exact_numbers = True

    def owned(self) -> QuerySet[License]:
        return services.owned_licenses(self.account_id)

    def one(self, held: License, status: int = 200) -> Response:
        return Response(LicenseSerializer(held).data, status=status)


class Licenses(LicenseView, AccountListView):
    permissions_required = {"GET": "licenses:read", "POST": "licenses:write"}
    filterset_class = LicenseFilters

    def owned(self) -> QuerySet[License]:
        return services.with_state(super().owned())

    @extend_schema(summary="List licences", responses=LicenseSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Newest first, expired and revoked ones too."""
        return self.list()

    @extend_schema(summary="Issue a licence", responses={201: LicenseSerializer})
    def post(self, request: Request) -> Response:
        """From its start the licence decides the requester's checks, whatever the caller vouches for.

        A requester who is not known yet comes into being by it. Its `price` enters the ledger at `startsAt`;
        `pricePerAccess` is charged for each allowed check.
        """
        fields = self.validated()
        return self.one(services.issue_license(self.account_id, fields), 201)


class LicenseById(LicenseView):
    permissions_required = {"GET": "licenses:read", "PATCH": "licenses:write"}

    @extend_schema(summary="Get a licence")
    def get(self, request: Request, id: str) -> Response:  # noqa: A002
        return self.one(find(self.owned(), id))

    @extend_schema(summary="Change a licence")
    def patch(self, request: Request, id: str) -> Response:  # noqa: A002
        """The next check is decided by it. A new price, start or type is corrected in the ledger by further entries.

        The requester stays the same, and a revoked licence as it is: that is a 409.
        """
        return self.one(services.update_license(find(self.owned(), id), self.validated(partial=True)))


class LicenseRevocation(LicenseView):
    permissions_required = {"POST": "licenses:write"}
    serializer_class = RevocationSerializer

    @extend_schema(summary="Revoke a licence", request=None, responses=LicenseSerializer)
    def post(self, request: Request, id: str) -> Response:  # noqa: A002
        """At once and for good; what it earned stays in the ledger. Revoking it again changes nothing."""
        held = find(self.owned(), id)
        if request._request.body:
            self.validated()
        return self.one(services.revoke_license(held))
