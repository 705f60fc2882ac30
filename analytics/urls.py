from django.urls import path

from analytics import ledger_views, revenue_views, views

urlpatterns = [
    path("analytics/usage", views.Usage.as_view()),
    path("analytics/revenue", revenue_views.Revenue.as_view()),
    path("revenue", ledger_views.Ledger.as_view()),
    path("revenue/<str:id>", ledger_views.LedgerEntryById.as_view()),
]
