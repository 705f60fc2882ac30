from typing import Any

from analytics.rollups.folding import fold
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = (
        "Adds to the rollups what was recorded since the last time, which the service does every few seconds by "
        "itself. Figures are exact before and after."
    )

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        folded = fold()
        return f"Folded {folded:,} batches.", {"folded": folded}
