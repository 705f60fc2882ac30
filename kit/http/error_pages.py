"""A page for an error, where whoever asks has a browser."""

from html import escape

from kit.http.errors import ApiError

TITLES = {400: "The request cannot be read", 413: "Too large", 429: "Too many requests"}


def page_of(error: ApiError) -> bytes:
    """A minimal HTML page of the error, for where rendering a template is impossible or too costly."""
    title = TITLES.get(error.status_code, "Not now")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{escape(error.message)}</p></html>\n"
    ).encode()
