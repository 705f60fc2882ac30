"""Endpoint /v1/crawlers."""

from typing import get_args

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import AccountViewSet
from kit.rest.fields import Choice
from kit.rest.rows import ShownRow
from licensing.crawler_classes import CLASSES
from licensing.edge.crawlers import Crawler, CrawlerKind, Fact
from licensing.edge.current_crawlers import current_table

FACTS = list(get_args(Fact))
KINDS = list(get_args(CrawlerKind))


class EvidenceSerializer(ShownRow):
    """A source that states facts of a crawler."""

    facts = serializers.ListField(child=Choice(choices=FACTS), help_text="The fields that the source states.")
    url = serializers.CharField(help_text="The page or file that states the facts.")
    date = serializers.DateField(help_text="The day on which the source stated them.")


class CrawlerSerializer(ShownRow):
    """A known crawler, recognised by its User-Agent and verified by address, reverse DNS or signature."""

    object = Choice(choices=["crawler"])
    name = serializers.CharField()
    crawlerClass = Choice(
        choices=list(CLASSES), help_text="The permission that its visits ask for; `other` asks for `read`."
    )
    operator = serializers.CharField()
    kind = Choice(
        choices=KINDS,
        help_text="`crawler` collects pages by itself; `fetcher` gets a page because somebody asks for it just then.",
    )
    userAgent = serializers.CharField(
        allow_null=True, help_text="The token that its User-Agent contains. Null: only robots.txt names it."
    )
    robotsToken = serializers.CharField(
        allow_null=True, help_text="The token that it obeys in robots.txt. Null: robots.txt cannot name it."
    )
    requesterId = serializers.CharField(help_text="The requester id of its verified visits.")
    addresses = serializers.ListField(
        child=serializers.CharField(), help_text="Address ranges of the table and of published lists."
    )
    hosts = serializers.ListField(
        child=serializers.CharField(), help_text="The domains that its addresses have their names in (reverse DNS)."
    )
    sources = serializers.ListField(
        child=serializers.CharField(),
        help_text="Where the operator publishes the addresses, or how to recognise them.",
    )
    addressLists = serializers.ListField(
        child=serializers.CharField(), help_text="The JSON files in which its operator publishes its addresses."
    )
    evidence = EvidenceSerializer(many=True, help_text="The source and date of each fact.")
    signatureAgent = serializers.CharField(
        allow_null=True, help_text="The host that publishes the crawler's signing keys."
    )

    attributes = {"robotsToken": "product_token", "sources": "all_sources"}

    def show_requester_id(self, crawler: Crawler) -> str:
        return f"crawler:{crawler.key}"


@extend_schema_serializer(many=False)
class CrawlerTableSerializer(serializers.Serializer):
    """The table of known crawlers."""

    object = Choice(choices=["crawler_table"])
    date = serializers.DateField(help_text="The date of the table.")

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add the field `data` here, because serializers have an attribute of that name."""
        return {**super().get_fields(), "data": CrawlerSerializer(many=True)}


class CrawlerViewSet(AccountViewSet):
    permissions_required = {"list": "content:read"}
    listing = frozenset[str]()
    filter_backends = ()
    pagination_class = None

    @extend_schema(summary="List known crawlers", responses=CrawlerTableSerializer)
    def list(self, request: Request) -> Response:
        """Returns the whole table and its date.

        `manage.py update_crawlers` replaces the table; `manage.py load_crawler_addresses` loads the addresses that
        operators publish.
        """
        table = current_table.get()
        data = CrawlerSerializer(table.crawlers, many=True).data
        return Response({"object": "crawler_table", "date": table.date.isoformat(), "data": data})
