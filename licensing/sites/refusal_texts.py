"""The texts of a site's refusal page."""

from functools import lru_cache
from typing import NamedTuple

MAX_NAME, MAX_MESSAGE, MAX_LINK_URL, MAX_LINK_LABEL = 100, 500, 500, 60  # characters


class RefusalTexts(NamedTuple):
    """A site's own texts on the refusal page; None for the default."""

    name: str | None = None
    message: str | None = None
    link_url: str | None = None
    link_label: str | None = None


NO_TEXTS = RefusalTexts()
# The pages of a site share one in memory.
shared_texts = lru_cache(maxsize=1_000)(RefusalTexts)
