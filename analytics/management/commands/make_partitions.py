from analytics.events.partitions import ensure_partitions
from kit.commands import ServiceCommand
from kit.storage.reading import stored_now


class Command(ServiceCommand):
    help = "Makes the partitions of the coming months on PostgreSQL. A running service does so by itself, too."

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        created = ensure_partitions(stored_now())
        return f"Made {', '.join(created) or 'none: all are there'}.", {"made": created}
