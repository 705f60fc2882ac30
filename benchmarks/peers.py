"""The pure decision by this project and other engines, with the same rules and requests.

A rule is (licence types, permissions): it allows a requester with a valid licence of such a type. Everything else is
denied. At most one rule of a policy matches, so it does not matter that Cedar and Rego have no order of precedence.
Each answer is (allowed, permissions, index of the matching rule). The other engines return the rule, and reading their
answer and looking up its permissions is not part of their time; ours includes everything. Each engine is used in the
way that measured fastest.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, decide
from licensing.policies.facts import Facts, HeldLicense
from licensing.policies.rules import parse_rules

Rules = list[tuple[list[str], list[str]]]
Request = tuple[str, str | None, bool]  # requester's id, its licence's type, whether that is valid
Answer = tuple[bool, tuple[str, ...], int | None]
Decide = Callable[[Request], Answer]
Engine = tuple[Callable[[Request], Any], Callable[[Any], Answer]]  # the timed call, and how its value is read


def this_project(rules: Rules) -> Engine:
    written: list[dict[str, Any]] = [
        {
            "action": "allow",
            "priority": priority,
            "conditions": {"licenseType": types, "hasValidLicense": True},
            "permissions": permissions,
        }
        for priority, (types, permissions) in enumerate(rules, 1)
    ]
    written.append({"action": "deny", "priority": 999, "conditions": {"default": True}, "message": "No."})
    policy = CompiledPolicy.of("pol_1", 1, "deny", parse_rules(written))
    now = datetime.now(UTC)

    def call(request: Request) -> Decision:
        requester_id, license_type, valid = request
        return decide(
            policy,
            Facts(
                now=now,
                requester_id=requester_id,
                license_types=(license_type,) if license_type is not None else (),
                has_valid_license=valid,
                licenses=(HeldLicense(license_type),) if license_type is not None or valid else (),
            ),
        )

    def read(decision: Decision) -> Answer:
        assert (decision.reason is None) is decision.allowed
        return decision.allowed, decision.permissions, decision.rule.index if decision.rule else None

    return call, read


def cedar(rules: Rules) -> Engine:
    import cedarpy  # noqa: PLC0415 - may not be installed

    text = "\n".join(
        f'@id("{index}")\npermit(principal, action, resource) when {{ context.hasValidLicense && context has '
        f"licenseType && {json.dumps(types)}.contains(context.licenseType) }};"
        for index, (types, _) in enumerate(rules)
    )
    policies = cedarpy.PolicySet.from_str(text)
    entities = cedarpy.Entities.from_json_str("[]")

    def call(request: Request) -> Any:
        requester_id, license_type, valid = request
        context: dict[str, Any] = {"hasValidLicense": valid}
        if license_type is not None:
            context["licenseType"] = license_type
        asked = {
            "principal": {"type": "Requester", "id": requester_id},
            "action": {"type": "Action", "id": "access"},
            "resource": {"type": "Content", "id": "cnt_1"},
            "context": context,
        }
        return cedarpy.is_authorized(asked, policies, entities)

    def read(result: Any) -> Answer:
        if not result.allowed:
            return False, (), len(rules)
        [reason] = result.diagnostics.reasons
        index = int(reason.removeprefix("policy"))
        return True, tuple(rules[index][1]), index

    return call, read


CASBIN_MODEL = """
[request_definition]
r = type, valid
[policy_definition]
p = type, index, eft
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.valid && r.type == p.type
"""


def casbin(rules: Rules) -> Engine:
    import casbin as engine  # noqa: PLC0415 - may not be installed

    enforcer = engine.Enforcer(engine.Enforcer.new_model(text=CASBIN_MODEL))
    enforcer.add_policies([[name, str(index), "allow"] for index, (types, _) in enumerate(rules) for name in types])

    def call(request: Request) -> Any:
        return enforcer.enforce_ex(request[1], request[2])

    def read(result: Any) -> Answer:
        allowed, explained = result
        if not allowed:
            return False, (), len(rules)
        index = int(explained[1])
        return True, tuple(rules[index][1]), index

    return call, read


def rego(rules: Rules) -> Engine:
    from regopy import Input, Interpreter  # noqa: PLC0415 - may not be installed

    module = ["package licensing", f"default decision := {len(rules)}"]
    for index, (types, _) in enumerate(rules):
        for name in types:
            module.append(f"decision := {index} {{ input.hasValidLicense; input.licenseType == {json.dumps(name)} }}")
    interpreter = Interpreter()
    interpreter.add_module("licensing", "\n".join(module))
    entry = "licensing/decision"
    bundle = interpreter.build(None, [entry])

    def call(request: Request) -> Any:
        _, license_type, valid = request
        given: dict[str, Any] = {"hasValidLicense": valid}
        if license_type is not None:
            given["licenseType"] = license_type
        interpreter.set_input(Input(given))
        return interpreter.query_bundle_entrypoint(bundle, entry)

    def read(output: Any) -> Answer:
        [index] = json.loads(str(output))["expressions"]
        return (True, tuple(rules[index][1]), index) if index < len(rules) else (False, (), index)

    return call, read


ENGINES: dict[str, Callable[[Rules], Engine]] = {
    "this service's decide": this_project,
    "cedarpy": cedar,
    "casbin": casbin,
    "regopy": rego,
}
