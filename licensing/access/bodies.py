"""Typed structures for the bodies of access checks.

msgspec replaces serializers here: a serializer alone takes as long as a whole check may.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from accounts.keys.authentication import Grant
from kit.http.errors import InsufficientPermissions
from kit.rest.fields import is_http_url
from kit.values.faults import REQUIRED, Fault
from kit.values.urls import URL_SCHEMA
from licensing.access.check_values import Check
from licensing.access.facts import sent_facts, with_facts
from licensing.access.faults import URL_RULE, Tell, body_error, raise_fault
from licensing.policies import schemas
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.condition_values import PERMISSION_PATTERN
from licensing.policies.facts import NOT_BLANK
from licensing.policies.rules import Rule, parse_new_rules

MAX_CHECKS = 100
POLICIES_READ = "policies:read"

Identifier = Annotated[str, Meta(min_length=1, max_length=255, pattern=NOT_BLANK)]
Name = Annotated[str, Meta(max_length=255, pattern=NOT_BLANK)]
# Python's $ would let a final newline pass; in JSON Schema it does not.
Permission = Annotated[
    str, Meta(pattern=rf"^{PERMISSION_PATTERN}\Z", extra_json_schema={"pattern": f"^{PERMISSION_PATTERN}$"})
]
Url = Annotated[str, Meta(max_length=2048, pattern="^[Hh][Tt][Tt][Pp][Ss]?://", extra_json_schema=URL_SCHEMA)]


class Body(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """Base of all bodies. Null and absent are equivalent."""


class RequesterBody(Body, kw_only=True):
    id: Identifier
    name: Name | None = None


class ContextBody(Body, kw_only=True):
    pass


if not TYPE_CHECKING:
    RequesterBody = with_facts(RequesterBody, "requester")
    ContextBody = with_facts(ContextBody, "context")


class DraftBody(Body, kw_only=True):
    """With `dryRun`: a proposed policy that replaces the item's own. Defaults are those of a new policy."""

    rules: Annotated[list[Any], Meta(extra_json_schema=schemas.RULES)] = []
    default_action: Literal["allow", "deny"] = "deny"


class CheckFields(Body, kw_only=True):
    content_id: Annotated[Identifier | None, Meta(description="The item by its id,")] = None
    external_id: Annotated[Identifier | None, Meta(description="by the publisher's own id,")] = None
    source: Annotated[Url | None, Meta(description="or by its URL.")] = None
    requester: Annotated[
        RequesterBody | Identifier | None, Meta(description="The requester: an object, or just the id.")
    ] = None
    permission: Annotated[Permission | None, Meta(description="What the requester wants to do.")] = None
    context: ContextBody | None = None
    dry_run: Annotated[bool | None, Meta(description="Decide without recording or counting anything.")] = None
    explain: Annotated[bool | None, Meta(description="Add the `trace` of the rules.")] = None
    sign: Annotated[bool | None, Meta(description="Add `token`, the decision as a signed JWS.")] = None
    policy: Annotated[DraftBody | None, Meta(description="With `dryRun`: decides in place of the item's policy.")] = (
        None
    )


class CheckBody(CheckFields, kw_only=True):
    """Check whether a requester may access an item. Exactly one of `contentId`, `externalId`, `source` names it."""


class BatchItem(CheckFields, kw_only=True):
    correlation_id: Annotated[Identifier | None, Meta(description="Returned with the decision.")] = None


class BatchBody(CheckFields, kw_only=True):
    """Up to 100 checks. The other fields are defaults for checks that omit them."""

    checks: Annotated[list[BatchItem], Meta(min_length=1, max_length=MAX_CHECKS)]


# Valid values that replace invalid fields, so that rules across fields can still be checked. Invalid fields that are
# not listed here count as absent.
STAND_INS: Mapping[str, object] = {
    **dict.fromkeys(("content_id", "external_id", "requester", "id"), "?"),
    "source": "https://example.com/",
    "context": ContextBody(),
    "policy": DraftBody(),
    "sign": False,
    "dry_run": "?",  # truthy, but not True: satisfies rules that need a dry run and rules that forbid one
    "checks": [],
    "BatchItem": BatchItem(content_id="?", requester="?"),
}


def has_draft(fields: Mapping[str, object]) -> bool:
    """Return whether the body contains a proposed policy, which can take long to compile."""
    if "policy" in fields:
        return True
    checks = fields.get("checks")
    return isinstance(checks, list) and any("policy" in member for member in checks if isinstance(member, dict))


def require_policy_access(grant: Grant, fields: Mapping[str, object]) -> None:
    """Raise InsufficientPermissions if a check explains or proposes a policy, and the key may not read policies.

    A trace shows the rules, and a proposed policy finds out facts by its conditions.
    """
    if grant.allows(POLICIES_READ):
        return
    checks = fields.get("checks")
    parts = [fields, *(checks if isinstance(checks, list) else [])]
    for part in parts:
        if isinstance(part, dict) and (part.get("explain") is True or part.get("policy") is not None):
            name = "explain" if part.get("explain") is True else "policy"
            raise InsufficientPermissions(f"This key lacks the permission {POLICIES_READ}, which `{name}` needs.")


def parse_check(fields: Mapping[str, object], requester: str | None = None) -> Check:
    """Parse the body of POST /v1/access/check. `requester` is the default requester. Raises ValidationFailed."""
    try:
        return build_check(msgspec.convert(fields, CheckBody), requester, raise_fault)
    except (msgspec.ValidationError, Fault):
        raise body_error(fields, CheckBody, STAND_INS, lambda body, tell: build_check(body, requester, tell)) from None


def parse_batch(fields: Mapping[str, object], requester: str | None = None) -> list[Check]:
    """Parse the body of POST /v1/access/check/batch and apply its defaults. Raises ValidationFailed."""
    try:
        return build_checks(msgspec.convert(fields, BatchBody), requester, raise_fault)
    except (msgspec.ValidationError, Fault):
        raise body_error(
            fields, BatchBody, STAND_INS, lambda body, tell: build_checks(body, requester, tell)
        ) from None


def build_check(body: CheckBody, requester: str | None, tell: Tell) -> Check:
    if body.requester is None:
        body.requester = requester
    return complete_check(body, None, "", None, tell)


def build_checks(body: BatchBody, requester: str | None, tell: Tell) -> list[Check]:
    if body.requester is None:
        body.requester = requester
    if body.source is not None and not is_http_url(body.source):  # even if every check names its own item
        tell("", "source", URL_RULE, body)
    draft = compile_draft(body.policy, "", tell) if body.policy is not None else None
    completed: list[Check] = []
    alike: Check | None = None  # the first check that only names its item; others differ from it in nothing else
    for index, item in enumerate(body.checks):
        # When faults are collected, each check is validated in full.
        names_item_alone = tell is raise_fault and names_its_item_alone(item)
        if alike is not None and names_item_alone:
            named = ("contentId", item.content_id)
            completed.append(replace(alike, selector=named, correlation_id=item.correlation_id))
            continue
        check = complete_check(item, body, f"checks[{index}].", draft, tell)
        if names_item_alone:
            alike = check = replace(check, names_item_alone=True)
        completed.append(check)
    return completed


def names_its_item_alone(item: BatchItem) -> bool:
    """Return whether the item sets only `contentId`, as most items of a batch do."""
    content_id = item.content_id
    return content_id is not None and item == BatchItem(content_id=content_id, correlation_id=item.correlation_id)


def compile_draft(draft: DraftBody, path: str, tell: Tell) -> CompiledPolicy:
    """Compile a proposed policy, with the same validation as saving one."""
    rules: tuple[Rule, ...] = ()
    try:
        rules = parse_new_rules(draft.rules)
    except Fault as first:
        for fault in first.all():
            tell(path, f"policy.rules{fault.path}", fault.message, draft)
    return CompiledPolicy.of(None, None, draft.default_action, rules)


def complete_check(
    own: CheckFields, defaults: CheckFields | None, path: str, default_draft: CompiledPolicy | None, tell: Tell
) -> Check:
    """Apply the defaults, report conflicts between fields, and build the check. The result is unusable if a fault was
    reported.
    """
    selector = selector_of(own, defaults, path, tell)
    draft = default_draft if own.policy is None else compile_draft(own.policy, path, tell)
    own_or_default = own if defaults is None else with_defaults(own, defaults)
    if draft is not None or own_or_default.sign:
        refuse_modes(own, defaults, own_or_default, draft, path, tell)
    requester = own_or_default.requester
    if requester is None:
        tell(path, "requester", REQUIRED, own)
        requester = ""
    if isinstance(requester, str):
        requester = RequesterBody(id=requester)
    return Check(
        selector=selector,
        requester_id=requester.id,
        requester_name=requester.name,
        permission=own_or_default.permission,
        given=sent_facts((("requester", requester), ("context", own_or_default.context)), path, tell),
        dry_run=bool(own_or_default.dry_run),
        explain=bool(own_or_default.explain),
        sign=bool(own_or_default.sign),
        policy=draft,
        correlation_id=own.correlation_id if isinstance(own, BatchItem) else None,
    )


def selector_of(own: CheckFields, defaults: CheckFields | None, path: str, tell: Tell) -> tuple[str, str]:
    """Return the item's selector, from the check or else from the defaults."""
    if own.content_id is not None and own.external_id is own.source is None:  # most checks
        return "contentId", own.content_id
    namer, named = own, given_selectors(own)
    if defaults is not None and not named:
        namer, named = defaults, given_selectors(defaults)
    if len(named) != 1:
        field, part = (named[1][0], namer) if named else ("contentId", own)
        tell(path, field, "Give exactly one of contentId, externalId, source.", part)
    if own.source is not None and not is_http_url(own.source):
        tell(path, "source", URL_RULE, own)
    return named[0] if named else ("contentId", "")


def with_defaults(own: CheckFields, defaults: CheckFields) -> CheckFields:
    """Return the check's fields, with the batch's for those it omits."""
    return CheckFields(
        requester=defaults.requester if own.requester is None else own.requester,
        context=defaults.context if own.context is None else own.context,
        permission=defaults.permission if own.permission is None else own.permission,
        dry_run=defaults.dry_run if own.dry_run is None else own.dry_run,
        explain=defaults.explain if own.explain is None else own.explain,
        sign=defaults.sign if own.sign is None else own.sign,
    )


def refuse_modes(
    own: CheckFields,
    defaults: CheckFields | None,
    own_or_default: CheckFields,
    draft: CompiledPolicy | None,
    path: str,
    tell: Tell,
) -> None:
    """Report a proposed policy without `dryRun`, and `sign` with it, at the field that was given."""
    if draft is not None and not own_or_default.dry_run:
        given_at, part = ("", defaults) if own.policy is None else (path, own)
        tell(given_at, "policy", "Only a dry run can be decided by a draft: set dryRun to true.", part)
    if own_or_default.sign and (own_or_default.dry_run is True or draft is not None):
        given_at, part = ("", defaults) if own.sign is None else (path, own)
        tell(given_at, "sign", "Only a decision that is recorded is signed, and a dry run is not.", part)


def given_selectors(body: CheckFields) -> list[tuple[str, str]]:
    given = (("contentId", body.content_id), ("externalId", body.external_id), ("source", body.source))
    return [(name, value) for name, value in given if value is not None]
