from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from time import monotonic

from kit.commands import ServiceCommand
from licensing.content import rekeying
from licensing.content.models import Content
from licensing.visits import former_counts

MAX_PAGES = 100  # pages to list
SECONDS = 2  # between two lines about the progress


@dataclass(frozen=True)
class Rewrite:
    """Data that an earlier version or other settings have left in another form.

    `chunks` rewrites it in short transactions, and what a chunk has rewritten needs no rewriting again. So it may be
    interrupted and repeated, beside a running service of this version or the one before.
    """

    name: str  # in the result
    title: str
    count: Callable[[], int]  # of rows to read
    chunks: Callable[[], Iterator[tuple[int, int]]]  # rows read and changed


REWRITES = [
    Rewrite("contentKeys", "Keys of items by their URLs", rekeying.count_items, rekeying.rekey_items),
    Rewrite(
        "edgeUsage", "Counts of visits in former tables", former_counts.count_former_rows, former_counts.move_chunks
    ),
]


class Command(ServiceCommand):
    help = (
        "Rewrites what an earlier version, or another SAME_PAGE or PAGE_PARAMETERS, has left, while the service runs, "
        "and shows its progress. If it is interrupted, run it again. Also lists pages that several items with "
        "different policies are registered for."
    )

    def perform(self, *, json: bool, **_: object) -> tuple[str, dict[str, object]]:
        changed = {rewrite.name: self.run_one(rewrite, is_shown=not json) for rewrite in REWRITES}
        lines = [f"{rewrite.title}: changed {changed[rewrite.name]:,}." for rewrite in REWRITES]
        pages = list(islice(rekeying.contested_pages(), MAX_PAGES + 1))
        if pages:
            how_many = f"{MAX_PAGES} and more" if len(pages) > MAX_PAGES else f"{len(pages)}"
            lines.append(f"Pages with items of different policies, where the newest active item decides: {how_many}")
            lines += [sentence(*page) for page in pages[:MAX_PAGES]]
        listed = [[item.pk for item in page] for page in pages[:MAX_PAGES]]
        return "\n".join(lines), {"object": "data_migration", "changed": changed, "contestedPages": listed}

    def run_one(self, rewrite: Rewrite, *, is_shown: bool) -> int:
        total = rewrite.count()
        rows_read = 0
        changed = 0
        shown_at = monotonic()
        for more_read, more_changed in rewrite.chunks():
            rows_read = rows_read + more_read
            changed = changed + more_changed
            if is_shown and monotonic() - shown_at > SECONDS:
                shown_at = monotonic()
                self.stderr.write(f"{rewrite.title}: {rows_read:,} of {total:,}")
        return changed


def sentence(newest: Content, *others: Content) -> str:
    ignored = ", ".join(f"{item.pk} ({item.source})" for item in others)
    return f"  {newest.source}: {newest.pk} decides, not {ignored}"
