"""Register the event objects of ledger entries and of access summaries."""

from accounts.events import clock
from accounts.events.objects import register, register_plain
from analytics.events import summaries
from analytics.examples import ADJUSTMENT
from analytics.ledger.serializers import LedgerEntrySerializer

register("ledger_entry", LedgerEntrySerializer(), ADJUSTMENT)
register_plain("access_summary", summaries.EXAMPLE)
clock.register(summaries.tell, summaries.EVERY)
