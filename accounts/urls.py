from django.urls import path

from accounts import audit_views, views

urlpatterns = [
    path("api-keys", views.ApiKeys.as_view()),
    path("api-keys/<str:id>", views.ApiKeyById.as_view()),
    path("api-keys/<str:id>/rotate", views.ApiKeyRotation.as_view()),
    path("audit", audit_views.AuditLog.as_view()),
    path("audit/<str:id>", audit_views.AuditEntryById.as_view()),
]
