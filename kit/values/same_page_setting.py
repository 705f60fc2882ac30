"""Publisher settings for URLs of the same page that RFC 3986 considers different (SAME_PAGE)."""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote_plus

SLASH, INDEX, QUERY = WORDS = ("trailing-slash", "index.html", "query")


@dataclass(frozen=True)
class SamePage:
    """Which differences to ignore. `parameters` are the significant query parameters; None means all."""

    slash: bool = False
    index: bool = False
    parameters: frozenset[str] | None = None

    @classmethod
    def from_words(cls, words: Collection[str], parameters: Collection[str]) -> "SamePage | None":
        """Build from the words in SAME_PAGE and the names in PAGE_PARAMETERS; None without words.

        Raises ValueError with a message that completes "The environment variable … ".
        """
        if unknown := sorted(set(words) - set(WORDS)):
            raise ValueError(f"takes {', '.join(WORDS)}, not {unknown[0]!r}")
        if parameters and QUERY not in words:
            raise ValueError(f"needs {QUERY} where PAGE_PARAMETERS names what of the query counts all the same")
        if not words:
            return None
        return cls(SLASH in words, INDEX in words, frozenset(parameters) if QUERY in words else None)

    def form(self, url: str) -> str:
        """Return the common form of all URLs of a page, given one normalised by kit.values.urls."""
        address, _, query = url.partition("?")
        scheme, _, host_and_path = address.partition("://")
        host, _, path = host_and_path.partition("/")
        if self.parameters is not None:
            parameters = [(unquote_plus(part.partition("=")[0]), part) for part in query.split("&")]
            query = "&".join(
                part for name, part in sorted(parameters, key=lambda parameter: parameter[0]) if self.counts(name)
            )
        return f"{scheme}://{host}{self.path(f'/{path}')}?{query}"

    def path(self, path: str) -> str:
        """Return the common form of all paths of a page."""
        return self.spellings(path)[-1]

    def spellings(self, path: str) -> tuple[str, ...]:
        """Return the path with and without what makes no difference, from itself to the common form."""
        folder = path.removesuffix(INDEX) if self.index and path.endswith(f"/{INDEX}") else path
        common = folder.removesuffix("/") or "/" if self.slash else folder
        return tuple(dict.fromkeys((path, folder, common)))

    def counts(self, parameter: str) -> bool:
        """Whether this query parameter distinguishes pages."""
        return self.parameters is None or parameter in self.parameters
