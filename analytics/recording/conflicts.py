"""Which requests cannot be recorded in one batch."""

from collections.abc import Sequence

from analytics.recording.entries import Entry
from analytics.recording.naming import Naming
from analytics.recording.outcomes import RETRY, STALE, Outcome


def find_conflicts(requests: Sequence[Sequence[Entry]]) -> list[Outcome | None]:
    """Return an outcome for each request that cannot join the batch, None for the others.

    A request is stored completely or not at all; otherwise a retry would decide and charge the stored part again. Its
    decisions have the same account, epoch and time. If an account appears with several epochs, only the newest can be
    stored; the others must not delay it. Claims of a request whose requesters may turn out to belong to another are
    counted separately.
    """
    epochs: dict[str, int] = {}
    for entries in requests:
        if entries:
            case = entries[0].case
            epochs[case.account] = max(case.epoch, epochs.get(case.account, -1))
    windows: dict[tuple[int, str, str], tuple[int, Naming | None]] = {}
    outcomes: list[Outcome | None] = []
    for entries in requests:
        refusal = None
        claimed_windows = {
            (entry.claim.requester, entry.claim.policy, entry.claim.rule): (entry.claim.window_start, entry.naming)
            for entry in entries
            if entry.claim is not None
        }
        if entries and entries[0].case.epoch < epochs[entries[0].case.account]:
            refusal = STALE
        elif any(windows.get(key, window) != window for key, window in claimed_windows.items()):
            refusal = RETRY
        else:
            windows |= claimed_windows
        outcomes.append(refusal)
    return outcomes
