from django.urls import path

from licensing.access import views as access_views
from licensing.content import views as content_views
from licensing.drafts import views as draft_views
from licensing.licenses import views as license_views
from licensing.policies import views as policy_views

urlpatterns = [
    path("content", content_views.ContentList.as_view()),
    path("content/<str:id>", content_views.ContentById.as_view()),
    path("policies", policy_views.PolicyList.as_view()),
    path("policies/lint", draft_views.PolicyLint.as_view()),
    path("policies/<str:id>", policy_views.PolicyById.as_view()),
    path("policies/<str:id>/versions", policy_views.PolicyVersions.as_view()),
    path("policies/<str:id>/rollback", policy_views.PolicyRollback.as_view()),
    path("policies/<str:id>/simulate", draft_views.PolicySimulate.as_view()),
    path("licenses", license_views.Licenses.as_view()),
    path("licenses/<str:id>", license_views.LicenseById.as_view()),
    path("licenses/<str:id>/revoke", license_views.LicenseRevocation.as_view()),
    path("access/check", access_views.AccessCheck.as_view()),
    path("access/check/batch", access_views.AccessCheckBatch.as_view()),
    path("access/decisions", access_views.Decisions.as_view()),
    path("access/decisions/<str:id>", access_views.DecisionById.as_view()),
]
