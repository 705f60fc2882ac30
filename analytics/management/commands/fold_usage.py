from analytics.rollups.roll_up import roll_up
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = (
        "Adds to the rollups what was recorded since the last time, which the service does every few seconds by "
        "itself. Figures are exact before and after."
    )

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        rows = roll_up()
        return f"Folded {rows:,} batches.", {"folded": rows}
