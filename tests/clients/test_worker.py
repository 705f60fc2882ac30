"""deploy/edge/worker.js on Node's fetch; tests/faults/proxies runs it in Cloudflare's runtime."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.generate import ROOT


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_worker_serves_pages_only_after_a_decision_and_keeps_their_own_links(tmp_path: Path):
    worker = shutil.copy(ROOT / "deploy" / "edge" / "worker.js", tmp_path / "worker.mjs")
    script = Path(__file__).with_name("worker.mjs")
    done = subprocess.run(["node", script, worker], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    saw = json.loads(done.stdout)
    assert {kind: reply["status"] for kind, reply in saw.items()} == {
        "allowed": 200,
        "portal": 503,
        "moved": 503,
        "denied": 402,
        "wrongKey": 401,
        "down": 200,
        "downElsewhere": 503,
    }
    assert saw["allowed"]["link"] == "</a.css>; rel=preload, </license.xml>; rel=license"
    assert {reply["redirect"] for reply in saw.values()} == {"manual"}
