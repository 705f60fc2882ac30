"""How events show what this app has: entries of the ledger."""

from accounts.events.objects import register
from analytics.examples import ADJUSTMENT
from analytics.ledger.serializers import LedgerEntrySerializer

register("ledger_entry", LedgerEntrySerializer(), ADJUSTMENT)
