"""Default descriptions for fields of the OpenAPI document that mean the same everywhere."""

from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request

FIELDS = {
    "action": "What is done: allowed or denied, or in the audit log what was changed.",
    "actorType": "What kind of caller it was.",
    "after": "From this moment on.",
    "allowed": "Whether access is allowed; in figures, how many requests were.",
    "allowedRequests": "How many requests were allowed.",
    "allowedToDenied": "How many allowed requests would be denied.",
    "amount": "An exact decimal, as a number or a string.",
    "author": "Who made the item.",
    "balance": "What is left of all grants.",
    "before": "Until this moment, exclusively.",
    "byReason": "How many for each reason.",
    "category": "The item's category.",
    "checks": "The checks, in the order of the reply.",
    "code": "Machine-readable and stable.",
    "condition": "The condition's name.",
    "contentId": "The content item's id.",
    "context": "From where the requester asks.",
    "correlationId": "The caller's own name for the check.",
    "count": "How many.",
    "crawlerClass": "What the crawler fetches pages for.",
    "created": "When it was created.",
    "createdAt": "When it was created.",
    "currency": "ISO 4217, such as `EUR`.",
    "data": "The items of the list, in order.",
    "decisionId": "The decision's id.",
    "defaultAction": "What decides where no rule matches.",
    "denied": "How many requests were denied.",
    "deniedRequests": "How many requests were denied.",
    "deniedToAllowed": "How many denied requests would be allowed.",
    "description": "Free text for people.",
    "dryRun": "Whether the decision was only rehearsed.",
    "effectiveAt": "From when on it counts.",
    "every": "The length of a period.",
    "expiresAt": "When it ends; null for never.",
    "externalId": "The publisher's own id of the item, unique in the account.",
    "findings": "What was found, in the order of the rules.",
    "grantId": "The grant's id; null where it concerns none.",
    "hasAccess": "Whether the amount could be paid now.",
    "hasMore": "Whether more items follow.",
    "id": "The resource's id.",
    "identifiedBy": "How the visitor was identified.",
    "index": "The place in the list, counted from 0.",
    "items": "The rows: each a new item or a change of one.",
    "kind": "What it is.",
    "level": "How grave it is.",
    "license": "The licence behind the decision; null for none.",
    "licenseId": "The licence's id.",
    "licenseType": "The tier of the licence.",
    "matched": "Whether all conditions of the rule held.",
    "max": "At most so much rolls over.",
    "message": "For people.",
    "min": "At least so much is there beside the refill.",
    "name": "A name for people.",
    "nextRefillAt": "When the next refill is due; null for none.",
    "object": "The kind of the object.",
    "operator": "Who runs it.",
    "percent": "A part of the balance after the latest grant.",
    "period": "The length of the window.",
    "permission": "What the requester wants to do.",
    "permissions": "What is granted.",
    "policyId": "The policy's id.",
    "policyVersion": "The version of the policy that decided.",
    "priority": "Lower ones are tried first; a missing one last.",
    "publishedAt": "The day on which the item was published.",
    "rateLimit": "The limit of the rule that matched; null for none.",
    "reason": "Why access was denied.",
    "refill": "What comes again each period; null for nothing.",
    "remaining": "How many requests are left in the window.",
    "requesterId": "The requester's id, as the publisher calls them.",
    "requests": "How many requests.",
    "resourceId": "The id of what was changed.",
    "revenue": "The amount, in the report's currency.",
    "revokedAt": "When it was revoked; null if it was not.",
    "rollover": "What of a refill stays when the next one comes.",
    "saw": "What the condition looked at had; null where nothing was known.",
    "source": "The item's URL; of a licence, who vouches for it.",
    "startDate": "The first day or moment of the window.",
    "status": "The state it is in.",
    "tags": "Free labels.",
    "thresholds": "Balances that an event tells of once they are passed.",
    "title": "The item's title.",
    "total": "The sum.",
    "totalCount": "How many items match in all.",
    "totalRequests": "How many requests were decided.",
    "type": "The kind of it.",
    "uniqueContent": "How many items were asked for.",
    "uniqueRequesters": "How many requesters asked.",
    "updated": "When it was last changed.",
    "userAgent": "The requester's program, as it names itself.",
    "value": "A balance.",
    "version": "The revision, counted from 1.",
    "voidedAt": "When it was taken back; null if it was not.",
    "walletId": "The wallet's id.",
    "wanted": "What the condition asks for.",
    "wordCount": "How many words the item has.",
}


def describe(
    result: dict[str, object], generator: SchemaGenerator, request: Request | None, public: bool
) -> dict[str, object]:
    """Add a description to each field without one. References use their target's."""
    describe_fields(result)
    return result


def describe_fields(value: object) -> None:
    if isinstance(value, list):
        for member in value:
            describe_fields(member)
    elif isinstance(value, dict):
        fields = value.get("properties")
        if isinstance(fields, dict):
            for name, field in fields.items():
                if isinstance(field, dict) and name in FIELDS and not {"description", "$ref"} & field.keys():
                    field["description"] = FIELDS[name]
        for name, member in value.items():
            if name not in ("example", "examples"):
                describe_fields(member)
