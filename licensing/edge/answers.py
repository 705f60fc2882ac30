"""What a proxy is told of a decision: a status and headers, and a body for whom it is passed on to."""

from msgspec import Struct
from msgspec.structs import replace

from kit.http.rendering import render_json
from licensing.access.decisions import Answer
from licensing.access.rendering import present_rate
from licensing.edge.original import Original
from licensing.policies.decision import Reason

# Where a licence or a payment would help it is 402.
STATUSES = {Reason.NO_LICENSE: 402, Reason.LICENSE_EXPIRED: 402, Reason.RATE_LIMIT_EXCEEDED: 429}
MESSAGES = {
    Reason.NO_LICENSE: "A licence is needed for this.",
    Reason.LICENSE_EXPIRED: "The licence for this has ended.",
    Reason.RATE_LIMIT_EXCEEDED: "This was asked for too often.",
}
DENIED = "Access to this is denied."
INVALID_TOKEN = "invalid_token"  # noqa: S105 - an error code
CHALLENGES = {
    401: 'License error="invalid_token", error_description="The licence token is not valid."',
    402: 'License error="insufficient_scope", error_description="A licence is needed for this."',
}


class EdgeAnswer(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes = b""

    def by_403(self) -> "EdgeAnswer":
        """The same for a proxy that knows no other denial (nginx), which reads X-Access-Status."""
        if not 400 <= self.status < 500:
            return self
        return replace(self, status=403, headers={**self.headers, "X-Access-Status": str(self.status)})


def told(status: int, decision: str, original: Original) -> dict[str, str]:
    shown = {
        "X-Access-Decision": decision,
        "X-Access-Status": str(status),
        "Link": f'<{original.license_url}>; rel="license"; type="application/rsl+xml"',
    }
    if status in CHALLENGES:
        shown["WWW-Authenticate"] = CHALLENGES[status]
    return shown


def open_page(original: Original) -> EdgeAnswer:
    """A page that nothing is decided of, and nothing recorded."""
    return EdgeAnswer(200, told(200, "allow", original))


def refused_token(original: Original) -> EdgeAnswer:
    headers = {**told(401, "deny", original), "X-Access-Reason": INVALID_TOKEN}
    return EdgeAnswer(401, headers, body_of(INVALID_TOKEN, "The licence token is not valid."))


def answer_of(answer: Answer, original: Original) -> EdgeAnswer:
    decision = answer.decision
    about = {"X-Access-Id": answer.id or "", "X-Access-Requester": answer.requester_id}
    if decision.allowed:
        if decision.observed:
            about["X-Access-Would"] = f"deny; reason={decision.observed}"
        return EdgeAnswer(200, told(200, "allow", original) | about)
    reason = decision.reason or Reason.POLICY_DENIED
    status = STATUSES.get(reason, 403)
    about["X-Access-Reason"] = reason
    rate = present_rate(answer)
    if rate is not None and rate["retryAfter"] is not None:
        about["Retry-After"] = str(rate["retryAfter"])
    message = decision.rule.message if decision.rule is not None else None
    return EdgeAnswer(
        status, told(status, "deny", original) | about, body_of(reason, message or MESSAGES.get(reason, DENIED))
    )


def body_of(code: str, message: str) -> bytes:
    return render_json({"error": {"code": code, "message": message, "type": "access_denied"}})
