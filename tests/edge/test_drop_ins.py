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
    if (cases.status === "stalled") throw new DOMException("The operation timed out.", "TimeoutError");
    return new Response(cases.status === 200 ? null : "refused", { status: cases.status, headers: cases.headers });
  };
  let reply;
  for (let count = 0; count < cases.visits; count++) {
    const visit = new Request(cases.url, { headers: cases.visitor });
    reply = await worker.fetch(visit, { LICENSING_URL: "http://licensing", LICENSING_KEY: "key", ...cases.env });
  }
  const body = await reply.text();
  console.log(JSON.stringify({ status: reply.status, headers: Object.fromEntries(reply.headers), body, asked }));
})();
"""


def worked(tmp_path, status, headers=(), url="https://pub.example/premium/a?x=1", *, visitor=None, visits=1, **env):
    """Return the Worker's last reply to forged headers if the service gives this answer.

    Status 0: the service is down; "stalled": it does not answer in time.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("No test of the Worker ran: Node is not installed.")
    worker = tmp_path / "worker.mjs"
    worker.write_text((ROOT / "deploy" / "edge" / "worker.js").read_text())
    case = {"worker": str(worker), "status": status, "headers": dict(headers), "env": env, "url": url,
            "visits": visits, "visitor": {**FORGED, **(visitor or {"User-Agent": "GPTBot/1.0"})}}  # fmt: skip
    done = subprocess.run([node, "-e", WORKER], input=json.dumps(case), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_worker_passes_the_visitor_and_denials_on(tmp_path):
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
    for status in [401, 402, 403, 429]:
        denied = {"x-access-decision": "deny", "crawler-price": "USD 0.01", "x-access-id": "dec_x"}
        reply = worked(tmp_path, status, denied)
        assert (reply["status"], reply["body"], reply["headers"]["crawler-price"]) == (status, "refused", "USD 0.01")
        assert reply["headers"]["x-access-id"] == "dec_x"  # the reference that a refused visitor can name
        assert "x-access-decision" not in reply["headers"]
    licensed = {"x-access-decision": "allow", "x-access-cache": "private"}
    assert worked(tmp_path, 200, licensed)["headers"]["cache-control"] == "private"
    assert "cache-control" not in worked(tmp_path, 200, {"x-access-decision": "allow"})["headers"]
    assert worked(tmp_path, 402, {"x-access-decision": "deny"})["headers"]["cache-control"] == "no-store"


def test_pages_stay_open_while_the_service_is_down_if_they_are_named(tmp_path):
    for env, status in [
        ({}, 200),
        ({"OPEN_PATHS": ""}, 503),
        ({"OPEN_PATHS": "/premium(/[\\w-]+)*"}, 200),
        ({"OPEN_PATHS": OPEN_PATHS}, 503),
    ]:
        replies = [worked(tmp_path, down, **env) for down in (0, 500, 502, 503, 504, 522)]
        assert [reply["status"] for reply in replies] == [status] * 6
        cache = "private" if status == 200 else "no-store"  # nobody has decided whether the page is for everybody
        assert {reply["headers"]["cache-control"] for reply in replies} == {cache}
    pages = ["/robots.txt", "/.well-known/acme-challenge/a", "/.well-known/tdmrep.json", "/.well-known/..;/a"]
    statuses = [worked(tmp_path, 0, url=f"https://pub.example{page}", OPEN_PATHS="")["status"] for page in pages]
    assert statuses == [200, 200, 503, 503]
    for error in [302, 400, 401, 403, 404]:  # of another server
        assert worked(tmp_path, error)["status"] == 200
        assert worked(tmp_path, error, OPEN_PATHS="/premium/a")["status"] == 200
        assert worked(tmp_path, error, OPEN_PATHS="")["status"] == 503
    assert worked(tmp_path, 400, {"x-ratelimit-limit": "600"}, OPEN_PATHS="/premium/a")["status"] == 400


def test_the_worker_asks_about_people_only_on_pages_that_are_not_open_to_them(tmp_path):
    person = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/131"}
    allowed = {"x-access-decision": "allow"}

    def questions(visitor, url):
        return len(worked(tmp_path, 200, allowed, url, visitor=visitor, OPEN_PATHS="/open/a")["asked"])

    assert questions(person, "https://pub.example/open/a") == 0
    assert questions(person, "https://pub.example/premium/a") == 1
    assert questions({**person, "Authorization": "License x"}, "https://pub.example/open/a") == 1
    assert questions({"User-Agent": "GPTBot/1.0"}, "https://pub.example/open/a") == 1


def test_the_worker_does_not_ask_a_service_that_stalled_for_ten_seconds(tmp_path):
    replies = [worked(tmp_path, "stalled", OPEN_PATHS=paths, visits=2) for paths in ("", "/premium/a")]
    assert [reply["status"] for reply in replies] == [503, 200]
    assert [len(reply["asked"]) for reply in replies] == [1, 1]
    assert replies[0]["headers"]["retry-after"] == "10"
