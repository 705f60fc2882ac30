from itertools import islice

from kit.commands import ServiceCommand
from licensing.content.models import Content
from licensing.content.rekeying import accounts_with_urls, contested_pages, rekey

MAX_PAGES = 100  # pages to list


class Command(ServiceCommand):
    help = (
        "Lets items be found by their URLs again after an upgrade or a change of SAME_PAGE or PAGE_PARAMETERS, and "
        "lists pages that several items with different policies are registered for."
    )

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        count = rekey()
        contested = (page for account_id in accounts_with_urls() for page in contested_pages(account_id))
        pages = list(islice(contested, MAX_PAGES + 1))
        lines = [f"Changed the keys of {count:,} items."]
        if pages:
            how_many = f"{MAX_PAGES} and more" if len(pages) > MAX_PAGES else f"{len(pages)}"
            lines.append(f"Pages with items of different policies, where the newest active item decides: {how_many}")
            lines += [sentence(*page) for page in pages[:MAX_PAGES]]
        listed = [[item.pk for item in page] for page in pages[:MAX_PAGES]]
        return "\n".join(lines), {"object": "content_rekeying", "changed": count, "contestedPages": listed}


def sentence(newest: Content, *others: Content) -> str:
    ignored = ", ".join(f"{item.pk} ({item.source})" for item in others)
    return f"  {newest.source}: {newest.pk} decides, not {ignored}"
