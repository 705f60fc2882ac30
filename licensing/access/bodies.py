"""The bodies of access checks, as typed structures: what they may hold is declared, and read, once.

They stand in for serializers because a check's whole budget is what a serializer takes.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from kit.http.errors import ValidationFailed
from kit.rest.fields import is_http_url
from kit.values.networks import parse_ip
from licensing.policies import schemas
from licensing.policies.condition_values import PERMISSION_PATTERN, RuleError
from licensing.policies.decision import CompiledPolicy
from licensing.policies.offers import Payment
from licensing.policies.rules import parse_new_rules

MAX_CHECKS = 100
NOT_BLANK = r"\S"
PERMISSION_RULE = "Must be a permission: a lower-case letter, then up to 63 of a-z, 0-9, '_', ':', '.' and '-'."
URL_RULE = "Must be an http(s) URL such as https://example.com/a."

Identifier = Annotated[str, Meta(min_length=1, max_length=255, pattern=NOT_BLANK)]
Name = Annotated[str, Meta(max_length=255, pattern=NOT_BLANK)]
LicenseType = Annotated[str, Meta(max_length=100, pattern=NOT_BLANK)]
# Python's $ would let a final newline pass; in JSON Schema it does not.
Permission = Annotated[
    str, Meta(pattern=rf"^{PERMISSION_PATTERN}\Z", extra_json_schema={"pattern": f"^{PERMISSION_PATTERN}$"})
]
Url = Annotated[str, Meta(max_length=2048, pattern="^[Hh][Tt][Tt][Pp][Ss]?://", extra_json_schema={"format": "uri"})]
Address = Annotated[
    str, Meta(max_length=45, description="An IPv4 or IPv6 address.", extra_json_schema={"format": "ip"})
]


class Body(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """Null and absent mean the same."""


class RequesterBody(Body, kw_only=True):
    id: Identifier
    name: Name | None = None
    license_type: Annotated[LicenseType | None, Meta(description="What the caller vouches for.")] = None
    has_valid_license: Annotated[bool | None, Meta(description="Likewise.")] = None


class ContextBody(Body, kw_only=True):
    ip: Annotated[Address | None, Meta(description="The requester's address.")] = None
    user_agent: Annotated[str, Meta(max_length=1000)] | None = None


class DraftBody(Body, kw_only=True):
    """With `dryRun`: a draft that decides instead of the item's own policy; its defaults are those of a new one."""

    rules: Annotated[list[Any], Meta(extra_json_schema=schemas.RULES)] = []
    default_action: Literal["allow", "deny"] = "deny"


class CheckFields(Body, kw_only=True):
    content_id: Annotated[Identifier | None, Meta(description="The item by its id,")] = None
    external_id: Annotated[Identifier | None, Meta(description="by the publisher's own id,")] = None
    source: Annotated[Url | None, Meta(description="or by its URL.")] = None
    requester: Annotated[
        RequesterBody | Identifier | None, Meta(description="Who asks: an object, or just the id.")
    ] = None
    permission: Annotated[Permission | None, Meta(description="What the requester wants to do.")] = None
    context: ContextBody | None = None
    dry_run: Annotated[bool | None, Meta(description="Decide, and record and count nothing.")] = None
    explain: Annotated[bool | None, Meta(description="Add the `trace` of the rules.")] = None
    sign: Annotated[bool | None, Meta(description="Add `token`, the decision as a signed JWS.")] = None
    policy: Annotated[DraftBody | None, Meta(description="With `dryRun`: decides instead of the item's own.")] = None


class CheckBody(CheckFields, kw_only=True):
    """May this requester have this item? Exactly one of `contentId`, `externalId`, `source` names it."""


class BatchItem(CheckFields, kw_only=True):
    correlation_id: Annotated[Identifier | None, Meta(description="Comes back with the decision.")] = None


class BatchBody(CheckFields, kw_only=True):
    """Up to 100 checks; the other fields are defaults for those that do not give their own."""

    checks: Annotated[list[BatchItem], Meta(min_length=1, max_length=MAX_CHECKS)]


class Check(Struct, frozen=True, gc=False):
    """One check, complete: `selector` is how the item is named (`contentId`, `externalId`, `source`), or a page at
    the edge (`page`), and its name."""

    selector: tuple[str, str]
    requester_id: str
    requester_name: str | None = None
    license_type: str | None = None
    has_valid_license: bool = False
    permission: str | None = None
    ip: str | None = None
    user_agent: str | None = None
    dry_run: bool = False
    explain: bool = False
    sign: bool = False
    policy: CompiledPolicy | None = None  # a draft, which decides instead of the item's own
    correlation_id: str | None = None
    and_permission: str | None = None  # a further one, without which nothing is allowed
    is_free: bool = False  # nothing is charged, whatever the licence says
    license_id: str | None = None  # of the licence token that was sent
    client_id: str | None = None  # to whom that was given
    payment: Payment | None = None  # what is paid for the access, if that takes it
    names_item_alone: bool = False  # in a batch, all else being its defaults: such checks differ in nothing else


B = TypeVar("B", bound=Body)

# msgspec's words for what a caller most often gets wrong, in ours.
WORDED = (
    (re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL), "There is no such field."),
    (re.compile(r"Object missing required field `(?P<field>.*)`", re.DOTALL), "This field is required."),
    (re.compile(r"Expected `str` matching regex '\^\[a-z\].*"), PERMISSION_RULE),
    (re.compile(r"Expected `str` matching regex '\^\[Hh\].*"), URL_RULE),
    (re.compile(r"Expected `str` matching regex .*"), "Must not be blank."),
    (re.compile(r"Expected `str` of length <= (?P<most>\d+)"), "Must have at most {most} characters."),
    (re.compile(r"Expected `str` of length >= 1"), "Must not be blank."),
    (re.compile(r"Expected `array` of length <= (?P<most>\d+)"), "Must have at most {most} items."),
    (re.compile(r"Expected `array` of length >= 1"), "Must not be empty."),
    (re.compile(r"Invalid enum value .*", re.DOTALL), "Must be one of: allow, deny."),
    (re.compile(r"Expected `(?P<wanted>[a-z |]+)`, got `.*`"), "Must be {wanted}."),
)
TYPES = {"str": "a string", "bool": "true or false", "object": "an object", "array": "an array", "null": "null"}


def worded(text: str) -> tuple[str, str | None]:
    """The message for an error of msgspec's, and the field that it names."""
    for pattern, message in WORDED:
        if match := pattern.fullmatch(text):
            found = match.groupdict()
            if "wanted" in found:
                found["wanted"] = " or ".join(TYPES.get(name, name) for name in found["wanted"].split(" | "))
            return message.format(**found), found.get("field")
    return f"{text}.", None


def convert(fields: Mapping[str, object], body: type[B]) -> B:
    """The body as its structure. Raises ValidationFailed, which names the path of what is wrong."""
    try:
        return msgspec.convert(fields, body)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$")
        message, field = worded(text)
        param = ".".join(part for part in (path.removesuffix("`").lstrip("."), field) if part)
        raise ValidationFailed(message, param=param or None) from None


def has_draft(fields: Mapping[str, object]) -> bool:
    """Whether a body has a draft of a policy: its author decides how long that takes to compile."""
    checks = fields.get("checks")
    members = checks if isinstance(checks, list) else ()
    return "policy" in fields or any("policy" in member for member in members if isinstance(member, dict))


def parse_check(fields: Mapping[str, object], requester: str | None = None) -> Check:
    """The body of POST /v1/access/check; it need not name the `requester` who is known. Raises ValidationFailed."""
    body = convert(fields, CheckBody)
    if body.requester is None:
        body.requester = requester
    return complete(body, None, "")


def parse_batch(fields: Mapping[str, object], requester: str | None = None) -> list[Check]:
    """The body of POST /v1/access/check/batch: its checks, completed by its defaults. Raises ValidationFailed."""
    body = convert(fields, BatchBody)
    if body.requester is None:
        body.requester = requester
    if body.source is not None and not is_http_url(body.source):  # also where every check names its own item
        raise ValidationFailed(URL_RULE, param="source")
    draft = compiled(body.policy, "") if body.policy is not None else None
    completed: list[Check] = []
    for index, item in enumerate(body.checks):
        if completed and completed[-1].names_item_alone and names_its_item_alone(item):
            named = ("contentId", item.content_id)
            completed.append(replace(completed[-1], selector=named, correlation_id=item.correlation_id))
        else:
            check = complete(item, body, f"checks[{index}].", draft)
            completed.append(replace(check, names_item_alone=True) if names_its_item_alone(item) else check)
    return completed


def names_its_item_alone(item: BatchItem) -> bool:
    """Whether it sets nothing but its item's id, like most checks of a batch."""
    return (
        (item.content_id is not None)
        and (item.external_id is item.source is item.requester is item.permission is item.context is None)
        and (item.dry_run is item.explain is item.sign is item.policy is None)
    )


def compiled(draft: DraftBody, path: str) -> CompiledPolicy:
    """The draft of a policy. Raises ValidationFailed, as saving it would."""
    try:
        rules = parse_new_rules(draft.rules)
    except RuleError as error:
        raise ValidationFailed(error.message, param=f"{path}policy.rules{error.path}") from None
    return CompiledPolicy.of(None, None, draft.default_action, rules)


def complete(
    own: CheckFields, defaults: CheckFields | None, path: str, default_draft: CompiledPolicy | None = None
) -> Check:
    """Raises ValidationFailed where the check does not name exactly one item, and a requester."""
    named = selectors(own)
    if defaults is not None:
        named = named or selectors(defaults)
    if len(named) != 1:
        param = f"{path}{named[1][0] if named else 'contentId'}"
        raise ValidationFailed("Give exactly one of contentId, externalId, source.", param=param)
    [selector] = named
    if selector[0] == "source" and not is_http_url(selector[1]):
        raise ValidationFailed(URL_RULE, param=f"{path}source")

    requester, context, permission = own.requester, own.context, own.permission
    dry_run, explain, sign = own.dry_run, own.explain, own.sign
    if defaults is not None:
        requester = defaults.requester if requester is None else requester
        context = defaults.context if context is None else context
        permission = defaults.permission if permission is None else permission
        dry_run = defaults.dry_run if dry_run is None else dry_run
        explain = defaults.explain if explain is None else explain
        sign = defaults.sign if sign is None else sign
    draft = default_draft if own.policy is None else compiled(own.policy, path)
    if draft is not None and not dry_run:
        param = "policy" if own.policy is None else f"{path}policy"
        raise ValidationFailed("Only a dry run can be decided by a draft: set dryRun to true.", param=param)
    if sign and dry_run:
        param = "sign" if own.sign is None else f"{path}sign"
        raise ValidationFailed("Only a decision that is recorded is signed, and a dry run is not.", param=param)
    if requester is None:
        raise ValidationFailed("This field is required.", param=f"{path}requester")
    if isinstance(requester, str):
        requester = RequesterBody(id=requester)
    ip = None
    if context is not None and context.ip is not None:
        try:
            ip = str(parse_ip(context.ip))
        except ValueError as error:
            raise ValidationFailed(str(error), param=f"{path}context.ip") from None
    return Check(
        selector=selector,
        requester_id=requester.id,
        requester_name=requester.name,
        license_type=requester.license_type,
        has_valid_license=bool(requester.has_valid_license),
        permission=permission,
        ip=ip,
        user_agent=context.user_agent if context is not None else None,
        dry_run=bool(dry_run),
        explain=bool(explain),
        sign=bool(sign),
        policy=draft,
        correlation_id=getattr(own, "correlation_id", None),
    )


def selectors(body: CheckFields) -> list[tuple[str, str]]:
    named = []
    if body.content_id is not None:
        named.append(("contentId", body.content_id))
    if body.external_id is not None:
        named.append(("externalId", body.external_id))
    if body.source is not None:
        named.append(("source", body.source))
    return named
