from rest_framework.routers import SimpleRouter

from analytics.ledger.views import LedgerViewSet, RefundViewSet
from analytics.payments.views import PaymentViewSet
from analytics.revenue.views import RevenueViewSet
from analytics.statements.views import StatementViewSet
from analytics.usage.views import UsageViewSet
from analytics.wallets.views import WalletViewSet

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("analytics", UsageViewSet, "usage")
router.register("analytics", RevenueViewSet, "revenue")
router.register("revenue", LedgerViewSet)
router.register("refunds", RefundViewSet, "refund")
router.register("payments", PaymentViewSet)
router.register("statements", StatementViewSet)
router.register("wallets", WalletViewSet)

urlpatterns = router.urls
