from rest_framework.routers import SimpleRouter

from accounts import views
from accounts.events.views import EventViewSet
from accounts.limits.me import OwnAccountViewSet
from accounts.webhooks.views import WebhookViewSet

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("accounts", OwnAccountViewSet, "account")
router.register("api-keys", views.ApiKeyViewSet)
router.register("audit", views.AuditViewSet)
router.register("events", EventViewSet)
router.register("webhooks", WebhookViewSet)

urlpatterns = router.urls
