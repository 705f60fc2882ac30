"""A shop that spends from wallets."""

from decimal import Decimal

from django.utils import timezone

from accounts.plans.epochs import current_epoch
from analytics.models import Wallet
from analytics.recording.entries import Entry
from kit.values import ids
from licensing.access.charging.paying import spend_in_record
from licensing.access.check_values import Check
from licensing.access.decisions import decide_checks
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import find_requesters
from licensing.access.subjects import LookupResult
from tests import factories

PRICE = Decimal("0.05")


class Shop:
    """An account whose licensees prepay 0.05 USD per access."""

    def __init__(self):
        self.account = factories.account()
        self.item = factories.content(self.account, policy_id=factories.policy(self.account).pk)
        self.wallets = {}

    def licensee(self, name, amount, **terms):
        factories.license(self.account, name, per_access=str(PRICE))
        self.wallets[name] = factories.wallet(self.account, "USD", amount, requester_id=name, **terms)["wallet"]

    def request(self, *names: str) -> list[Entry]:
        """Return the entries of a request with a check for each licensee."""
        items = find_items(self.account.pk, {("contentId", self.item.pk)})
        found = LookupResult(current_epoch(self.account.pk), items, find_requesters(self.account.pk, set(names)))
        checks = [Check(("contentId", self.item.pk), name) for name in names]
        batch = decide_checks(checks, found, ids.id_to_hex("acc", self.account.pk), timezone.now())
        batch = spend_in_record(batch)
        return batch.entries

    def balance(self, name):
        return Wallet.objects.get(pk=self.wallets[name]).balance
