"""Schemathesis failures that are by design, with reasons."""

import re
from dataclasses import dataclass
from typing import Any

from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import JsonSchemaError, RejectedPositiveData


@dataclass(frozen=True)
class ByDesign:
    """Accepted failures of a kind. `operation`, `param` and `message` match the full text, `detail` a part."""

    reason: str
    failure: type[Failure] = RejectedPositiveData  # fits the schema, but is refused
    operation: str = ".*"
    status: int | None = None
    param: str = ".*"  # of the refusal
    message: str = ".*"  # of the refusal
    detail: str = ""  # of schemathesis's message
    query: str | None = None  # a parameter that was sent
    is_replay: bool = False  # of the reply to an earlier request with its Idempotency-Key

    def is_about(self, failure: Failure, case: Any, reply: Any) -> bool:
        error = reply.json()["error"] if reply.status_code >= 400 else {}
        return (
            isinstance(failure, self.failure)
            and self.status in (None, reply.status_code)
            and (not self.is_replay or "idempotent-replayed" in reply.headers)
            and (self.query is None or self.query in (case.query or {}))
            and all(
                re.fullmatch(pattern, text, re.DOTALL)
                for pattern, text in (
                    (self.operation, case.operation.label),
                    (self.param, error.get("param", "")),
                    (self.message, error.get("message", "")),
                )
            )
            and re.search(self.detail, failure.message) is not None
        )


BY_DESIGN = (
    ByDesign("A schema does not know what there is.",
     message="There is no .*|This policy has no version .*|The requester has no licence .*"),
    ByDesign("A cursor is good for the list that it is of.", param="cursor", message="This is not a cursor .*"),
    ByDesign("Nor does it know in which state a resource is.", status=412),
    ByDesign("The state is looked at before the body.", AcceptedNegativeData, status=412),
    ByDesign("Nor what has ended.", operation="POST /v1/api-keys/{id}/rotate", message="This key has ended already.*"),
    ByDesign("Nor what was sent under a key before.", message="This Idempotency-Key was used for another request."),
    ByDesign(
        "Nor the time: moments are compared with each other, with now, and with the years of a calendar.",
        message="Must be later than (startsAt|effectiveAt, and in the future).|"
        "Must (not be before|(not )?be in the future).*|"
        "((start|end)Date: )?Must be in the years .*|startDate is after .*|Must not be after endDate.|"
        "This window has .* buckets.*",
    ),
    ByDesign("Nor what a wallet holds.", operation="PATCH /v1/wallets/{id}", param="floor",
     message="Must be at most 0, and at most the balance."),
    ByDesign("Nor what a policy's tests come to.", param=r"tests(\[\d+\])?", message=".*: expected to be .*"),
    ByDesign("Alternatives beside properties are what generators cannot type.", message="Give exactly one of .*"),
    ByDesign("Default and own value of a batch, and a licence token, name a requester too.",
     operation="POST /v1/access/check(/batch)?", param=r"(checks\[\d+\]\.)?requester",
     message="This field is required."),
    ByDesign("What null and absent mean alike has no condition.", message="Only a (dry run|decision|denial) .*"),
    ByDesign("Which permissions a key may have hangs on its type.", message="A public key can only read: .*"),
    ByDesign("A file has no pages.", param="cursor", message="A file has everything that matches.*"),
    ByDesign("A page has no byte order mark.", param="bom", message="bom is for CSV files.*"),
    ByDesign("Nor what was charged.", operation="POST /v1/(refunds|revenue)", param="amount",
     message=".* was not charged, so nothing can be refunded.*"),
    ByDesign("Nor that an alias is another host.", param=r"aliases\[\d+\]", message=".* is the site's host.*"),
    ByDesign("A page has no place to go on from.", param="after", message="after is for files .*"),
    ByDesign("A schema does not know which rows there are.", param="after",
     message=".*Export the file from its beginning."),
    ByDesign("A PATCH takes what was read; that it is not another value, no schema says.", operation="PATCH .*",
     message="(The (type|permissions) of a key|`(requesterId|licenseId|unit)`) cannot be changed.*"),
    ByDesign("Patterns of a site are told apart by what they match.", message="Another rule has this pattern."),
    ByDesign("No pattern knows how long a month is.",
     message=r"(\w+: )?(Must be (an ISO 8601 timestamp|a date) such as|There is no day) .*"),
    ByDesign("87.0 is an integer to JSON Schema, and a number with a fraction here.", message="Must be an integer.*"),
    ByDesign("`multipleOf` is no rule for decimals: to most validators 0.07 is no multiple of 0.01.",
     param=r".*[aA]mount|floor|.*\.(min|max|value)",
     message="Must have at most 6 places .*|Must be more than 0.*|Must not be 0."),
    ByDesign("A rule shows its currency after it has gone out of use, in the schema that it was sent in.",
     param=r"(.*\.)?rules\[\d+\]\.pricePerAccess\.currency"),
    ByDesign("A grant shows kinds that only the service makes, in the schema that it is sent in.",
     operation="POST /v1/wallets/{id}/grants", param="kind", message="Must be one of: paid, promotional."),
    ByDesign("U+001C to U+001F and U+0085 are white space in Unicode, and not to `\\S`.",
     message="Must not be blank."),
    ByDesign("What is printable, a port and a host is more than a pattern can say.",
     param=r"(.*\.)?(source|url|host|pattern|allowedHosts\[\d+\])",
     message="Must be an http.s. URL .*|Must be a host name .*|Must not contain .*"),
    ByDesign("So is what leads to the public internet.", operation=".* /v1/webhooks(/{id})?", param="url"),
    ByDesign("Bits behind a prefix are counted, not matched.", param=r"allowedIps\[\d+\]|.*\.ip(\[\d+\])?",
     message=r".* has bits set behind its prefix.*|Must be an IP address or a range.*"),
    ByDesign("The plan of an account is in no schema.", param=r"(.*\.)?rateLimit.requests",
     message="Must be below the plan's limit of .*"),
    ByDesign("Names of headers are without case, and some are the service's own.", param=r"headers(\..*)?",
     message="This header cannot be set.|Names a header twice."),
    ByDesign("With `fields` a resource has those that were asked for, and not all.", JsonSchemaError, query="fields"),
    ByDesign("What is wrong with a row is told of that row.", AcceptedNegativeData, operation="POST .*/bulk",
     status=200),
    ByDesign("Null in a query is an empty text, which a text may be.", AcceptedNegativeData, operation="GET .*",
     detail=r"became null\)"),
    ByDesign("Among its right cases are headers that do not match their pattern,", param="If-Match|If-None-Match",
     message=".* takes tags in quotation marks.*"),
    ByDesign("and a replay looks at no If-Match.", AcceptedNegativeData, operation="POST .*/(revoke|rollback)",
     is_replay=True),
    ByDesign("An empty array in a query is sent as nothing.", AcceptedNegativeData, operation="GET .*",
     detail="query: violates `additionalProperties`"),
)  # fmt: skip


def is_by_design(failure: Failure, case: Any, reply: Any) -> bool:
    return any(one.is_about(failure, case, reply) for one in BY_DESIGN)
