"""The Grafana dashboard and the example alerts use only metrics that the service exposes."""

import json
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml
from django.conf import settings
from django.db import connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from accounts.webhooks import worker  # noqa: F401 - it has a metric of its own
from config import background, jobs  # noqa: F401 - have their metrics
from config.server import thread_pools  # noqa: F401 - so have they
from kit.telemetry import tables
from tests.standing import Unblock

pytestmark = pytest.mark.django_db  # without a test that is marked, no test database is created
DEPLOY = Path(settings.BASE_DIR) / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
GROUPS = yaml.safe_load((DEPLOY / "prometheus-rules.yml").read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
SHOWN = {target["expr"] for panel in PANELS for target in panel["targets"]}
QUERIES = sorted(SHOWN | {rule["expr"] for rule in RULES})

# The words of PromQL that the queries use, what Prometheus adds itself, and Grafana's variable.
LANGUAGE = {"abs", "time", "sum", "max", "rate", "increase", "topk", "histogram_quantile", "vector", "by", "or", "on"}
ADDED = {"up", "licensing_archive_end_timestamp_seconds"}  # the latter only with an archive
if connection.vendor != "postgresql":
    ADDED.add("licensing_table_bytes")
ADDED_LABELS = {"job", "instance", "le", "table"}


@pytest.fixture(scope="module")
def exposed(for_the_module: Unblock) -> dict[str, set[str]]:
    """The labels of each scraped metric, by its name in queries."""
    with for_the_module(), mock.patch.object(tables, "SCRAPE_SECONDS", 60):  # a busy machine reads sizes late
        Client().get("/livez")
        scraped = Client().get("/metrics").content.decode()
    names: dict[str, set[str]] = {}
    for metric in text_string_to_metric_families(scraped):
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}.get(metric.type, [""])
        labels = {label for sample in metric.samples for label in sample.labels}
        names.update({metric.name + suffix: labels for suffix in suffixes})
    return names


def metrics_of(query: str) -> set[str]:
    """Return the metric names in a query: words outside matchers, ranges and label lists that are not PromQL's own."""
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)|\d[\d.e+]*", " ", query)
    return set(re.findall(r"[a-zA-Z_:][a-zA-Z0-9_:]*", bare)) - LANGUAGE


def labels_of(query: str) -> set[str]:
    grouped = {name.strip() for names in re.findall(r"\bby \(([^)]*)\)", query) for name in names.split(",")}
    return grouped | set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", query))


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_only_metrics_and_labels_that_exist(query: str, exposed: dict[str, set[str]]):
    named = metrics_of(query)
    assert named
    assert named <= set(exposed) | ADDED
    assert labels_of(query) <= set().union(*(exposed.get(name, set()) for name in named)) | ADDED_LABELS


def test_every_metric_is_explained_and_on_the_dashboard(exposed: dict[str, set[str]]):
    assert metrics_of('sum by (le) (rate(licensing_nothing_bucket{job="x"}[5m])) / 2') == {"licensing_nothing_bucket"}
    assert labels_of('sum by (le, way) (up{job!="x"})') == {"le", "way", "job"}
    shown = {family(name) for query in SHOWN for name in metrics_of(query)}
    assert {family(name) for name in exposed if name.startswith("licensing_")} <= shown
    page = (Path(settings.BASE_DIR) / "docs" / "reference" / "observability.md").read_text()
    families = {family(name) for name in exposed if name.startswith("licensing_")}
    assert len(families) > 20
    assert {name for name in families if f"`{name}`" not in page} == set()


def family(name: str) -> str:
    return re.sub(r"_(bucket|count|sum)$", "", name)


def test_every_panel_has_a_title_an_explanation_a_unit_and_a_place_of_its_own():
    places = set()
    for panel in PANELS:
        at: dict[str, Any] = panel["gridPos"]
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places
        assert at["x"] + at["w"] <= 24
        places |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


class Vector(dict[str, float]):
    """A PromQL vector by instance, with the operators that the alert uses."""

    def __add__(self, other: "Vector") -> "Vector":
        return Vector({name: self[name] + other[name] for name in self if name in other})

    def __truediv__(self, other: "Vector") -> "Vector":
        return Vector({name: self[name] / other[name] for name in self if other.get(name)})

    def __rmul__(self, factor: float) -> "Vector":
        return Vector({name: factor * number for name, number in self.items()})

    def __or__(self, other: "Vector") -> "Vector":  # type: ignore[override]
        return Vector({**other, **self})

    def __gt__(self, limit: float) -> "Vector":
        return Vector({name: number for name, number in self.items() if number > limit})


ERRORS = next(rule["expr"] for rule in RULES if rule["alert"] == "LicensingServerErrors")
CHECK = "licensing_access_check_duration_seconds_count"
HTTP = "licensing_http_request_duration_seconds_count"


def alerting(expression: str, rates: dict[str, Vector]) -> set[str]:
    """Evaluate an expression of sums by instance. `rates` has metrics, with `:5xx` behind those that are errors."""

    def vector(match: re.Match[str]) -> str:
        name = match[1] + (":5xx" if 'status="5xx"' in match[2] else "")
        return f"rates.get({name!r}, Vector())"

    sums = r"sum by \(instance\) \((?:rate\()?(\w+)(\{[^}]*\})(?:\[5m\]\))?\)"
    python = re.sub(sums, vector, expression).replace(" or ", " | ").replace("\n", " ")
    python = re.sub(r"\s+or ", " | ", python)
    return set(eval(python, {"Vector": Vector, "rates": rates}))  # noqa: S307 - our own file


@pytest.mark.parametrize("served", [{CHECK}, {HTTP}, {CHECK, HTTP}], ids=["checks", "other requests", "both"])
def test_the_alert_for_server_errors_needs_no_metric_that_does_not_exist_yet(served: set[str]):
    up = {"up": Vector(failing=1, well=1, idle=1)}
    rates = {name: Vector(failing=10, well=10) for name in served}
    errors = {f"{name}:5xx": Vector(failing=9) for name in served}
    assert alerting(ERRORS, up | rates | errors) == {"failing"}
    assert alerting(ERRORS, up | rates) == set()
    assert alerting(ERRORS, up) == set()


def test_every_alert_says_what_happens_and_how_bad_it_is_and_is_in_the_runbook():
    for rule in RULES:
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["labels"]["severity"] in ("critical", "warning")
    runbook = (DEPLOY.parent / "docs" / "guides" / "runbook.md").read_text()
    assert set(re.findall(r"`(Licensing\w+)`", runbook)) == {rule["alert"] for rule in RULES}
