from django.urls import path
from rest_framework.routers import SimpleRouter

from licensing.access.views import AccessViewSet, DecisionViewSet
from licensing.clients.views import LicenseClientViewSet
from licensing.content.views import ContentViewSet
from licensing.customers.routes import merge_route
from licensing.customers.views import RequesterViewSet
from licensing.drafts.views import PolicyDraftViewSet
from licensing.edge.crawler_views import CrawlerViewSet
from licensing.edge.observed_views import ObservedViewSet
from licensing.edge.offers import OfferViewSet
from licensing.edge.proxies.views import ProxiedSiteViewSet, ProxyConfigViewSet
from licensing.licenses.views import LicenseViewSet
from licensing.policies.views import PolicyViewSet
from licensing.portal.views import portal_sessions_route
from licensing.visits.crawler_views import CrawlerReportViewSet
from licensing.visits.page_views import PageViewSet
from licensing.visits.views import VisitorViewSet

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("content", ContentViewSet)
router.register("policies", PolicyDraftViewSet, "policy-draft")  # before /policies/<id>, which would match lint
router.register("policies", PolicyViewSet)
router.register("sites", ProxiedSiteViewSet)
router.register("sites", ProxyConfigViewSet, "proxy-config")
router.register("crawlers", CrawlerViewSet, "crawler")
router.register("requesters", RequesterViewSet)
router.register("licenses", LicenseViewSet)
router.register("license-clients", LicenseClientViewSet)
router.register("access", AccessViewSet, "access")
router.register("access", OfferViewSet, "offer")
router.register("analytics", ObservedViewSet, "observed")
router.register("analytics", VisitorViewSet, "visitor")
router.register("analytics", PageViewSet, "page")
router.register("analytics", CrawlerReportViewSet, "crawler-report")
router.register("access/decisions", DecisionViewSet)

# An id may have slashes, so the route of one requester would match these too.
urlpatterns = [
    path("requesters/<path:id>/merge", merge_route, name="requester-merge"),
    path("requesters/<path:id>/portal-sessions", portal_sessions_route, name="requester-portal-sessions"),
    *router.urls,
]
