"""Reports as JSON, or as files with a row for each member of their lists."""

from collections.abc import Callable, Mapping

from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer

from kit.rest.export import export, fields_of, json_report, wanted_format
from kit.storage.replica import Reading
from kit.values.json_values import Rendered


def rows_of_report(report: Mapping[str, object]) -> list[Rendered]:
    """Return a row for each list member and each object of a report; the column `list` names its origin."""
    rows: list[Rendered] = []
    for name, part in report.items():
        if isinstance(part, list):
            rows += [{"list": name, **member} for member in part]
        elif isinstance(part, dict) and name == "summary":
            rows.append({"list": name, **part})
        elif isinstance(part, dict):  # the object byLicenseType
            rows += [{"list": name, "id": key, "revenue": value} for key, value in part.items()]
    return rows


def columns_of_report(serializer: type[BaseSerializer]) -> list[str]:
    columns = ["list"]
    for _, part in fields_of(serializer):
        members = getattr(getattr(part, "child", part), "fields", {})
        columns += [name for name in members if name not in columns]
    return columns


def report_response(
    request: Request, name: str, serializer: type[BaseSerializer], make: Callable[[], Mapping[str, object]]
) -> HttpResponseBase:
    file_format = wanted_format(request.query_params, request.headers.get("Accept", ""))
    if file_format == "json":
        return json_report(make)
    return report_file(request, file_format, name, serializer, make)


def report_file(
    request: Request,
    file_format: str,
    name: str,
    serializer: type[BaseSerializer],
    make: Callable[[], Mapping[str, object]],
    *,
    has_bom: bool = False,
) -> HttpResponseBase:
    reading = Reading()
    chunks = [rows_of_report(reading.read(make))]
    return export(request, file_format, name, columns_of_report(serializer), chunks, reading, has_bom=has_bom)
