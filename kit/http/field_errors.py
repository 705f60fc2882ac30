"""Flatten a serializer's errors into paths and messages."""

from collections.abc import Iterator

from rest_framework.exceptions import ErrorDetail
from rest_framework.settings import api_settings

from kit.values.faults import Fault, FaultKind

UNKNOWN = "unknown_field"  # error code of unknown fields


KINDS = {"required": FaultKind.MISSING, UNKNOWN: FaultKind.UNKNOWN}  # by DRF's error codes


def all_errors(detail: object, path: str = "") -> Iterator[Fault]:
    """Yield each error with its path, such as `rules[0].conditions.licenseType`."""
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
                yield to_fault(path, text)
    else:
        yield to_fault(path, detail)


def to_fault(path: str, detail: object) -> Fault:
    return Fault(path, str(detail), KINDS.get(getattr(detail, "code", ""), FaultKind.MALFORMED))


def to_error_detail(fault: Fault) -> ErrorDetail:
    """Convert a fault to an error that a serializer field can raise."""
    codes = {kind: code for code, kind in KINDS.items()}
    return ErrorDetail(fault.message, codes.get(fault.kind, "invalid"))


def first_error(detail: object) -> tuple[str, str]:
    first = next(all_errors(detail))
    return first.path, first.message
