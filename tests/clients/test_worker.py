"""deploy/edge/worker.js on Node's fetch; tests/faults/proxies runs it in Cloudflare's runtime."""

import shutil
from pathlib import Path

import pytest

from tests.clients.generate import ROOT
from tests.clients.node_scripts import told_by


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_worker_serves_closed_pages_only_after_a_decision_and_keeps_their_own_links(tmp_path: Path):
    worker = shutil.copy(ROOT / "deploy" / "edge" / "worker.js", tmp_path / "worker.mjs")
    saw = told_by("worker.mjs", worker)
    expected = {"allowed": 200, "denied": 402, "odd": 400, "terms": 200, "portalTerms": 503}
    expected |= dict.fromkeys(["portal", "moved", "password", "down"], 200)
    expected |= dict.fromkeys(["portalElsewhere", "movedElsewhere", "downElsewhere"], 503)
    assert {kind: reply["status"] for kind, reply in saw.items()} == expected
    assert saw["allowed"]["link"] == "</a.css>; rel=preload, </license.xml>; rel=license"
    assert {reply["redirect"] for reply in saw.values()} == {"manual"}
