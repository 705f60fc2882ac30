from django.urls import path

from analytics.ledger import views as ledger_views
from analytics.revenue import views as revenue_views
from analytics.usage import views as usage_views

urlpatterns = [
    path("analytics/usage", usage_views.Usage.as_view()),
    path("analytics/revenue", revenue_views.Revenue.as_view()),
    path("revenue", ledger_views.Ledger.as_view()),
    path("revenue/<str:id>", ledger_views.LedgerEntryById.as_view()),
]
