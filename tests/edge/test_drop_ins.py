"""The Cloudflare Worker in deploy/edge."""

import json
import shutil
import subprocess

import pytest

from run import ROOT

OPEN_PATHS = r"/(about|open(/[\w-][\w.-]*)*)/?"
FORGED = {"X-Access-Requester": "forged", "X-Access-Decision": "forged", "X-Licensing-Key": "forged"}


WORKER = """
const cases = JSON.parse(require("fs").readFileSync(0));
(async () => {
  const { default: worker } = await import(cases.worker);
  const asked = [];
  globalThis.fetch = async (input, options) => {
    const request = input instanceof Request ? input : new Request(input, options);
    if (!request.url.startsWith("http://licensing")) {
      return new Response(JSON.stringify(Object.fromEntries(request.headers)));
    }
    asked.push({ url: request.url, ...Object.fromEntries(request.headers) });
    if (cases.status === 0) throw new Error("down");
    return new Response(cases.status === 200 ? null : "refused", { status: cases.status, headers: cases.headers });
  };
  const visit = new Request(cases.url, { headers: cases.visitor });
  const reply = await worker.fetch(visit, { LICENSING_URL: "http://licensing", LICENSING_KEY: "key", ...cases.env });
  const body = await reply.text();
  console.log(JSON.stringify({ status: reply.status, headers: Object.fromEntries(reply.headers), body, asked }));
})();
"""


def worked(tmp_path, status, headers=(), url="https://pub.example/premium/a?x=1", **env):
    """Return the Worker's reply to forged headers if the service gives this answer; status 0: the service is down."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("No test of the Worker ran: Node is not installed.")
    worker = tmp_path / "worker.mjs"
    worker.write_text((ROOT / "deploy" / "edge" / "worker.js").read_text())
    case = {"worker": str(worker), "status": status, "headers": dict(headers), "env": env, "url": url,
            "visitor": {**FORGED, "User-Agent": "GPTBot/1.0"}}  # fmt: skip
    done = subprocess.run([node, "-e", WORKER], input=json.dumps(case), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_worker_sends_the_page_and_the_visitor(tmp_path):
    shown = {"link": "<l>", "crawler-charged": "USD 0.01"}
    allowed = {"x-access-decision": "allow", "x-access-requester": "anonymous"}
    reply = worked(tmp_path, 200, {**allowed, **shown})
    [asked] = reply["asked"]
    assert (asked["x-licensing-key"], asked["x-forwarded-uri"]) == ("key", "/premium/a?x=1")
    assert (asked["x-forwarded-host"], asked["user-agent"]) == ("pub.example", "GPTBot/1.0")
    seen = json.loads(reply["body"])
    assert seen["x-access-requester"] == "anonymous"
    assert not {"x-access-decision", "x-licensing-key"} & seen.keys()
    assert shown.items() <= reply["headers"].items()


@pytest.mark.parametrize("status", [401, 402, 403, 429])
def test_the_worker_answers_denials_as_the_service_does(tmp_path, status):
    reply = worked(tmp_path, status, {"crawler-price": "USD 0.01", "x-access-id": "dec_x"})
    assert (reply["status"], reply["body"], reply["headers"]["crawler-price"]) == (status, "refused", "USD 0.01")
    assert "x-access-id" not in reply["headers"]


@pytest.mark.parametrize(
    ("env", "status"),
    [({}, 503), ({"OPEN_PATHS": "/premium(/[\\w-]+)*"}, 200), ({"OPEN_PATHS": OPEN_PATHS}, 503)],
)
def test_the_worker_keeps_open_only_pages_that_are_named_while_the_service_is_down(tmp_path, env, status):
    assert [worked(tmp_path, down, **env)["status"] for down in (0, 502, 503, 504, 522)] == [status] * 5


def test_an_error_of_the_service_opens_nothing_in_the_worker(tmp_path):
    opened = {"OPEN_PATHS": "/premium(/[\\w-]+)*"}
    assert {worked(tmp_path, status, **opened)["status"] for status in (500, 501)} == {503}


def test_the_worker_keeps_public_pages_open_while_the_service_is_down(tmp_path):
    pages = ["/robots.txt", "/.well-known/acme-challenge/a", "/.well-known/tdmrep.json", "/.well-known/..;/a"]
    replies = [worked(tmp_path, 0, url=f"https://pub.example{page}")["status"] for page in pages]
    assert replies == [200, 200, 503, 503]
