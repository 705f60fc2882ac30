"""What every query has to be, whatever it asks for."""

from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from kit.http.errors import InvalidRequest


def check_utf8(query: str) -> None:
    """Refuses a parameter whose bytes are no text, which Django would replace by question marks."""
    for part in query.split("&"):
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            name = part.partition("=")[0][:100]
            raise InvalidRequest(f"{name} is not UTF-8.", param=name) from None


def check_query(parameters: Iterable[tuple[str, list[str]]], known: frozenset[str]) -> None:
    """Refuses a parameter that the endpoint does not know, and one given twice, except for `field[in]`."""
    for name, values in parameters:
        if name not in known:
            raise InvalidRequest(f"There is no query parameter {name[:100]!r} here.", param=name[:100])
        if len(values) > 1 and not name.endswith("[in]"):
            raise InvalidRequest(f"{name} is given {len(values)} times.", param=name)
        if any("\0" in value for value in values):
            raise InvalidRequest("Text must not contain the character U+0000.", param=name)
