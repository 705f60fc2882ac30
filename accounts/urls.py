from django.urls import path
from rest_framework.routers import SimpleRouter

from accounts.auditing import views as audit_views
from accounts.keys import views as key_views
from accounts.plans.views import OwnAccountViewSet
from accounts.webhooks.event_views import EventViewSet
from accounts.webhooks.views import WebhookViewSet

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register(
    "api-keys", key_views.ApiKeySearchViewSet, "api-key-search"
)  # before /api-keys/<id>, which would match "find"
router.register("api-keys", key_views.ApiKeyViewSet)
router.register("audit", audit_views.AuditViewSet)
router.register("events", EventViewSet)
router.register("webhooks", WebhookViewSet)

own_account = OwnAccountViewSet.as_view({"get": "retrieve", "patch": "partial_update"})
urlpatterns = [path("accounts/me", own_account, name="own-account"), *router.urls]
