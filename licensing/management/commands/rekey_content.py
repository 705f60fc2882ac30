from kit.commands import ServiceCommand
from licensing.content.rekeying import rekey


class Command(ServiceCommand):
    help = "Lets items be found by their URLs again after SAME_PAGE or PAGE_PARAMETERS has changed."

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        count = rekey()
        return f"Changed the keys of {count:,} items.", {"object": "content_rekeying", "changed": count}
