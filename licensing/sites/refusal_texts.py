"""The texts of a site's refusal page."""

from functools import lru_cache
from typing import NamedTuple

# Characters.
MAX_NAME = 100
MAX_MESSAGE = 500
MAX_LINK_URL = 500
MAX_LINK_LABEL = 60


class RefusalTexts(NamedTuple):
    """A site's own texts on the refusal page; None for the default."""

    name: str | None = None
    message: str | None = None
    link_url: str | None = None
    link_label: str | None = None


NO_TEXTS = RefusalTexts()
# The pages of a site share one in memory.
shared_texts = lru_cache(maxsize=1_000)(RefusalTexts)
