from pathlib import Path

from tests.clients.generate import ROOT
from tests.clients.node_scripts import told_by
from tests.clients.sites import compiled
from tests.openapi.node import needs_node, run
from tests.served import Service


@needs_node
def test_the_story_in_typescript(tmp_path: Path, service: Service):
    run("tsc", "-p", ROOT / "clients" / "typescript", "--outDir", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    assert told_by("story.mjs", tmp_path, service.url, service.key) == {
        "denied": [False, "no_license"],
        "charge": {"amount": "0.050001", "currency": "USD"},
        "total": "0.05",
        "found": ["article", "report", "Markets", "Yes, we can"],
        "file": 4,
        "error": [True, 412, "precondition_failed", True],
        "conditional": ["precondition_failed", "Mine"],
        "unread": "Error",
        "requestIds": 0,
        "pageOfMember": True,
        "limited": True,
        "deprecated": [],
        "withoutTag": "Error",
        "dates": ["2026-01-01T00:00:00.000Z", "2026-07-01T00:00:00.000Z"],
        "broken": [None, None, None],
        "unreadable": [["unreadable_reply", 200]] * 3,
        "event": {"price": {"amount": "0.10"}, "metadata": {"amount": 1.5}, "attributes": {"amount": 10}},
        "node": "ping",
        "forged": "InvalidSignature",
        "noBase64": "InvalidSignature",
        "signed": ["org_globex", "read", True],
        "refused": {
            "another permission": "InvalidDecision: The decision is about another permission.",
            "no permission": "InvalidDecision: The decision is about another permission.",
            "another item": "InvalidDecision: The decision is about another item.",
            "another requester": "InvalidDecision: The decision is about another requester.",
            "a denial": "InvalidDecision: The decision is a denial.",
            "later": "InvalidDecision: The decision has expired.",
            "changed": "InvalidDecision: The signature does not match.",
            "an unknown key": "InvalidDecision: The service has no such key.",
            "no token": "InvalidDecision: The token is malformed.",
            "another service": "InvalidDecision: The decision is of another service.",
        },
        "down": ["TypeError: down", "TypeError: down", "allowed"],
        "keys": 2,
        "unsendable": [["TypeError", False]] * 3,
    }


@needs_node
def test_lost_replies_are_retried_redirects_are_errors_and_files_may_take_long():
    assert told_by("lost_replies.mjs", compiled()) == {
        "redirected": [301, ["POST"], 1],
        "cutWrite": ["cnt_1", ["POST", "POST"], 1],
        "cutRead": ["cnt_1", ["GET", "GET"], 1],
        "cutCheck": ["TypeError", ["POST"], 1],
        "below": ["/licensing/v1/content/cnt_1", "/licensing/v1/access/middleware"],
        "slowFile": "a\r\nb\r\n",
        "stalledFile": "TimeoutError",
        "stalledGate": [1, "503 10", "503 10", "503 10"],
    }
