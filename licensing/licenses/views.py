"""Endpoints below /v1/licenses."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.bulk import BulkViewSet
from accounts.plans import epochs
from analytics.ledger.due import book_due
from kit.rest.bulk import outcomes_serializer
from kit.rest.filters import (
    ORDER,
    PREFIX,
    Operand,
    OperatorFilterSet,
    choice,
    identifier,
    text,
    timestamp,
)
from licensing.licenses import services
from licensing.licenses.bulk import Together
from licensing.licenses.models import License
from licensing.licenses.serializers import (
    STATES,
    LicenseBulkOutcomeSerializer,
    LicenseBulkSerializer,
    LicenseSerializer,
    RevocationSerializer,
)


class LicenseFilters(OperatorFilterSet):
    operands = {
        "id": Operand(identifier("lic")),
        "requesterId": Operand(text, "requester__requester_id"),
        "externalId": Operand(text, "external_id", PREFIX, optional=True),
        "licenseType": Operand(text, "license_type"),
        "status": Operand(choice(STATES), "derived_status"),
        "startsAt": Operand(timestamp, "starts_at", ORDER),
        "expiresAt": Operand(timestamp, "expires_at", ORDER, optional=True),
        "created": Operand(timestamp, operators=ORDER),
        "updated": Operand(timestamp, operators=ORDER),
    }


class LicenseViewSet(BulkViewSet[License]):
    permissions_required = {
        "list": "licenses:read",
        "retrieve": "licenses:read",
        "create": "licenses:write",
        "partial_update": "licenses:write",
        "revoke": "licenses:write",
        "bulk": "licenses:write",
    }
    tagged = BulkViewSet.tagged | {"revoke"}
    conditional = BulkViewSet.conditional | {"revoke"}
    exportable = {"list": "licenses"}
    bulk_class = Together
    bulk_serializer = LicenseBulkSerializer
    bulk_name = "license"
    serializer_class = LicenseSerializer
    filterset_class = LicenseFilters
    queryset = License.objects.select_related("requester")
    exact_numbers = True

    def lock_first(self) -> None:
        epochs.lock_epoch(self.account_id)

    @extend_schema(summary="List licences", responses=LicenseSerializer(many=True))
    def list(self, request: Request) -> HttpResponseBase:
        """Newest first, including expired and revoked ones."""
        book_due(self.account_id)
        return self.page(services.with_state(self.get_queryset()))

    @extend_schema(summary="Issue a licence", responses={201: LicenseSerializer})
    def create(self, request: Request) -> HttpResponse:
        """Issues a licence. From its start it applies to the requester's checks and overrides what callers assert.

        Creates the requester if it is unknown. The `price` enters the ledger at `startsAt`;
        `pricePerAccess` is charged for each allowed check. A `fee` is charged in advance at the start of each period
        from `startsAt`; those of periods that have begun are charged at once.
        """
        return self.answer(services.issue_license(self.account_id, self.validated()), 201)

    @extend_schema(
        summary="Issue and change licences in bulk",
        request=LicenseBulkSerializer,
        responses=outcomes_serializer("LicenseBulkOutcomes", LicenseBulkOutcomeSerializer(many=True)),
    )
    @action(detail=False, methods=["post"])
    def bulk(self, request: Request) -> Response:
        """1 to 1,000 rows, each processed separately: an error in one does not affect the others.

        A row with `id`, or with the `externalId` of a licence, changes that licence like PATCH, and writes nothing if
        nothing changes. Any other row issues a licence. Rows with an `externalId` can be sent again safely; without
        one, send an `Idempotency-Key`, or the same rows issue further licences. Outcomes are in the order of the rows.
        They count as one request towards the plan limit.
        """
        return self.write_bulk()

    @extend_schema(summary="Get a licence")
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        book_due(self.account_id)
        return self.answer(self.get_object())

    @extend_schema(summary="Change a licence")
    def partial_update(self, request: Request, id: str) -> HttpResponse:
        """Applies from the next check. If price, start or type change, correcting entries are added to the ledger.

        A changed `fee` applies from the next period, and null ends it; what was charged stays. No period is charged
        twice. A later `expiresAt` charges the periods that it adds.

        The requester cannot be changed. A revoked licence cannot be changed either: that is a 409.
        """
        license_ = self.get_object_to_change()
        return self.answer(services.update_license(license_, self.validated_change(license_)))

    @extend_schema(summary="Revoke a licence", request=None, responses=LicenseSerializer)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, id: str) -> HttpResponse:
        """Immediate and permanent. Its ledger entries remain, and no further fee is charged.

        Revoking it again changes nothing.
        """
        license_ = self.get_object_to_change()
        if request._request.body:
            self.validated(RevocationSerializer)
        return self.answer(services.revoke_license(license_))
