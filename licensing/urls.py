from django.urls import path

from licensing import check_views, license_views, simulation_views, views

urlpatterns = [
    path("content", views.ContentList.as_view()),
    path("content/<str:id>", views.ContentById.as_view()),
    path("policies", views.PolicyList.as_view()),
    path("policies/lint", simulation_views.PolicyLint.as_view()),
    path("policies/<str:id>", views.PolicyById.as_view()),
    path("policies/<str:id>/versions", views.PolicyVersions.as_view()),
    path("policies/<str:id>/rollback", views.PolicyRollback.as_view()),
    path("policies/<str:id>/simulate", simulation_views.PolicySimulate.as_view()),
    path("licenses", license_views.Licenses.as_view()),
    path("licenses/<str:id>", license_views.LicenseById.as_view()),
    path("licenses/<str:id>/revoke", license_views.LicenseRevocation.as_view()),
    path("access/check", check_views.AccessCheck.as_view()),
    path("access/check/batch", check_views.AccessCheckBatch.as_view()),
    path("access/decisions", check_views.Decisions.as_view()),
    path("access/decisions/<str:id>", check_views.DecisionById.as_view()),
]
