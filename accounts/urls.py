from rest_framework.routers import SimpleRouter

from accounts import views

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("api-keys", views.ApiKeyViewSet)
router.register("audit", views.AuditViewSet)

urlpatterns = router.urls
