"""Flatten a serializer's errors into paths and messages."""

from collections.abc import Iterator

from rest_framework.settings import api_settings


def all_errors(detail: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and text of each error; paths look like `rules[0].conditions.licenseType`."""
    if isinstance(detail, dict):
        for key, nested in detail.items():
            if isinstance(key, int):
                where = f"{path}[{key}]"
            elif key == api_settings.NON_FIELD_ERRORS_KEY:
                where = path
            elif key.startswith("[") or not path:
                where = f"{path}{key}"
            else:
                where = f"{path}.{key}"
            yield from all_errors(nested, where)
    elif isinstance(detail, list):
        for index, nested in enumerate(detail):
            if isinstance(nested, dict | list):
                yield from all_errors(nested, f"{path}[{index}]")
        for text in detail:
            if text and not isinstance(text, dict | list):
                yield path, str(text)
    else:
        yield path, str(detail)


def first_error(detail: object) -> tuple[str, str]:
    return next(all_errors(detail))
