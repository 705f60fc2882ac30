"""The generated files of clients/: types by generators, the operations by the templates here.

`python -m tests.clients.generate` regenerates them (with the Node tools of tests/openapi).
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import django

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "clients" / "python" / "src" / "content_access_licensing"
TYPESCRIPT = ROOT / "clients" / "typescript" / "src"
WORDS = ("description", "example", "examples", "summary")
JSON = "application/json"
TYPES_OF_PYTHON = [
    "--input-file-type", "openapi", "--openapi-scopes", "schemas", "--output-model-type", "typing.TypedDict",
    "--target-python-version", "3.11", "--use-standard-collections", "--use-union-operator",
    "--enum-field-as-literal", "all", "--use-schema-description", "--no-use-closed-typed-dict",
    "--formatters", "builtin", "--disable-timestamp", "--custom-file-header", "# Generated. See tests/clients.",
    "--type-mappings", "date-time=string", "uri=string", "date=string", "ip=string", "ip-range=string",
    "time-zone=string",
]  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """The data from which a client method is generated."""

    name: str
    method: str
    path: str
    summary: str
    body: str | None
    answer: str
    is_list: bool  # paged: the answer is the type of a member
    takes_query: bool
    is_keyed: bool  # gets an Idempotency-Key by itself
    is_conditional: bool

    @property
    def ids(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)


def name_of(schema: dict[str, Any]) -> str:
    return str(schema["$ref"].rpartition("/")[2])


def operations(document: dict[str, Any]) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            success, *_ = [reply for status, reply in operation["responses"].items() if status in ("200", "201")]
            answer = name_of(success["content"][JSON]["schema"])
            page = document["components"]["schemas"][answer].get("properties", {})
            is_list = "nextCursor" in page
            body = operation.get("requestBody")
            parameters = operation.get("parameters", [])
            names = {one["name"] for one in parameters}
            yield Operation(
                name=operation["operationId"],
                method=method.upper(),
                path=path,
                summary=operation["summary"],
                body=name_of(body["content"][JSON]["schema"]) if body else None,
                answer=name_of(page["data"]["items"]) if is_list else answer,
                is_list=is_list,
                takes_query=any(one["in"] == "query" for one in parameters),
                # A check with a key takes the slower path; without one it is retried where that is safe.
                is_keyed="Idempotency-Key" in names and not path.startswith("/v1/access/"),
                is_conditional="If-Match" in names,
            )


Amounts = dict[str, list[str]]


def amounts(document: dict[str, Any]) -> Amounts:
    """Return the names of money fields, and of objects of money fields, by response schema.

    A name that is another number elsewhere in the reply follows that of its object: `credits.remaining`.
    """
    schemas = document["components"]["schemas"]
    answers = {one.answer for one in operations(document)}
    found = {answer: names_of_money(schemas, [answer], ["", "data"]) for answer in answers}
    # An event holds any resource.
    found["Event"] = found["SentEvent"] = names_of_money(schemas, answers, ["data", "previous"])
    return {answer: sorted(names) for answer, names in sorted(found.items()) if names}


def names_of_money(schemas: dict[str, Any], answers: Iterable[str], parents: Iterable[str]) -> set[str]:
    """Return the names in replies of these types, which stand below a property of one of the `parents`."""
    numbers = {
        number
        for answer in answers
        for parent in parents
        for number in number_fields(schemas, schemas[answer], parent)
    }
    others = {number.name for number in numbers if not number.is_money}
    return {
        f"{number.parent}.{number.name}" if number.name in others else number.name
        for number in numbers
        if number.is_money
    }


class Number(NamedTuple):
    """A number in a reply. `parent` is the property that holds its object."""

    parent: str
    name: str
    is_money: bool


def number_fields(schemas: dict[str, Any], schema: dict[str, Any], parent: str) -> Iterator[Number]:
    for name, field in schema.get("properties", {}).items():
        alternatives = [field, *field.get("oneOf", []), *field.get("anyOf", []), field.get("items", {})]
        kinds = [schemas[name_of(one)] if "$ref" in one else one for one in alternatives]
        for kind in kinds:
            members = kind.get("additionalProperties")
            if is_money(kind) or (isinstance(members, dict) and is_money(members)):
                yield Number(parent, name, is_money=True)
            elif re.search("integer|number", str(kind.get("type"))):
                yield Number(parent, name, is_money=False)
            yield from number_fields(schemas, kind, name)


def is_money(schema: dict[str, Any]) -> bool:
    return schema.get("format") == "decimal"


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def python_method(one: Operation, money: Amounts, *, is_async: bool) -> str:
    given = [*(f"{name}: str" for name in one.ids), *([f"body: types.{one.body}"] if one.body else [])]
    given += ["query: Query | None = None"] if one.takes_query else []
    passed = (["query=query"] if one.takes_query else []) + (["body=body"] if one.body else [])
    passed += [f'answer="{one.answer}"'] if one.answer in money else []
    options = []
    if one.method == "POST":
        options.append("idempotency_key: str | None = None")
        passed += ["idempotency_key=idempotency_key", *(["keyed=True"] if one.is_keyed else [])]
    if one.is_conditional:
        options.append("if_match: str | None = None")
        passed.append("if_match=if_match")
    signature = ", ".join(["self", *given, *(["*", *options] if options else [])])
    path = f'"{one.path}"'
    if one.ids:
        path = "f" + re.sub(r"{(\w+)}", r"{quote(\1, safe='')}", path)
    made = ", ".join([f'"{one.method}"', path, *passed])
    if one.is_list:
        kind = "AsyncStream" if is_async else "Stream"
        head, answer, result = "def", f"{kind}[types.{one.answer}]", f"self.pages(call({made}))"
    else:
        head, answer = ("async def" if is_async else "def"), f"types.{one.answer}"
        sent = f"{'await ' if is_async else ''}self.send(call({made}))"
        result = f'cast("types.{one.answer}", {sent})'
    lines = [f"    {head} {snake(one.name)}({signature}) -> {answer}:", f'        """{one.summary}."""']
    return "\n".join([*lines, f"        return {result}\n"])


def python_amounts(document: dict[str, Any]) -> str:
    rows = "".join(f'    "{answer}": frozenset({names!r}),\n' for answer, names in amounts(document).items())
    return (
        '"""Names of the fields that hold money, by type of reply. '
        f'Generated. See tests/clients."""\n\nAMOUNTS: dict[str, frozenset[str]] = {{\n{rows}}}\n'
    )


def python_operations(document: dict[str, Any]) -> str:
    head = (
        '"""Every operation of the API as a method. Generated. See tests/clients."""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import TYPE_CHECKING, Any, cast\n"
        "from urllib.parse import quote\n\n"
        "from content_access_licensing.protocol import Call, Query, call\n"
        "from content_access_licensing.responses import AsyncStream, Stream\n\n"
        "if TYPE_CHECKING:\n    from content_access_licensing import types\n"
    )
    text = head
    money = amounts(document)
    for name, is_async, send, pages in (
        ("Operations", False, "def send(self, call: Call) -> Any", "def pages(self, call: Call) -> Stream[Any]"),
        (
            "AsyncOperations",
            True,
            "async def send(self, call: Call) -> Any",
            "def pages(self, call: Call) -> AsyncStream[Any]",
        ),
    ):
        needed = [f"    {one}:\n        raise NotImplementedError\n" for one in (send, pages)]
        methods = [python_method(one, money, is_async=is_async) for one in operations(document)]
        text += f"\n\nclass {name}:\n" + "\n".join(needed + methods)
    return text


def typescript_method(one: Operation, money: Amounts) -> str:
    given = [*(f"{name}: string" for name in one.ids), *([f'body: Schemas["{one.body}"]'] if one.body else [])]
    given += ["query?: Query"] if one.takes_query else []
    options = (["idempotencyKey?: string"] if one.method == "POST" else []) + (
        ["ifMatch?: string"] if one.is_conditional else []
    )
    given += [f"options?: {{ {'; '.join(options)} }}"] if options else []
    passed = (["query"] if one.takes_query else []) + (["body"] if one.body else [])
    passed += ["keyed: true"] if one.is_keyed else []
    passed += [f'answer: "{one.answer}"'] if one.answer in money else []
    passed += ["...options"] if options else []
    path = "`" + re.sub(r"{(\w+)}", r"${encodeURIComponent(\1)}", one.path) + "`"
    call = f'{{ method: "{one.method}", path: {path}{"".join(f", {part}" for part in passed)} }}'
    answer = f'Schemas["{one.answer}"]'
    kind, send = ("AsyncGenerator", "pages") if one.is_list else ("Promise", "send")
    return (
        f"  /** {one.summary}. */\n"
        f"  {one.name}({', '.join(given)}): {kind}<{answer}> {{\n    return this.{send}({call});\n  }}\n"
    )


def typescript_amounts(document: dict[str, Any]) -> str:
    rows = "".join(f"  {answer}: {json.dumps(names)},\n" for answer, names in amounts(document).items())
    return (
        "// Names of the fields that hold money, by type of reply: amounts, and objects of amounts.\n"
        "// Generated. See tests/clients.\n"
        f"export const AMOUNTS: Record<string, string[]> = {{\n{rows}}};\n"
    )


def typescript_operations(document: dict[str, Any]) -> str:
    money = amounts(document)
    return (
        "// Every operation of the API as a method. Generated. See tests/clients.\n"
        'import type { Call, Query } from "./protocol.js";\n'
        'import type { Schemas } from "./schema.js";\n\n'
        "export abstract class Operations {\n"
        "  abstract send<T extends object>(call: Call): Promise<T>;\n"
        "  abstract pages<T extends object>(call: Call): AsyncGenerator<T>;\n\n"
        + "\n".join(typescript_method(one, money) for one in operations(document))
        + "}\n"
    )


def without_words(value: Any) -> Any:
    if isinstance(value, list):
        return [without_words(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {name: without_words(member) for name, member in value.items() if name not in WORDS or name == "properties"}


def digest(document: dict[str, Any]) -> str:
    """Return a hash of the schemas that the types are generated from."""
    shapes = json.dumps(without_words(document["components"]["schemas"]), sort_keys=True)
    return hashlib.sha256(shapes.encode()).hexdigest()[:16]


def write(document: dict[str, Any]) -> None:
    (PYTHON / "amounts.py").write_text(python_amounts(document))
    (PYTHON / "operations.py").write_text(python_operations(document))
    (TYPESCRIPT / "amounts.ts").write_text(typescript_amounts(document))
    (TYPESCRIPT / "operations.ts").write_text(typescript_operations(document))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "openapi.json"
        source.write_text(json.dumps({**document, "paths": {}, "webhooks": {}}))
        tool = os.environ.get("DATAMODEL_CODEGEN", str(Path(sys.executable).parent / "datamodel-codegen"))
        subprocess.run(
            [tool, "--input", source, "--output", PYTHON / "types.py", *TYPES_OF_PYTHON],
            check=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        types_of_typescript = ROOT / "tests" / "openapi" / "types.mjs"
        subprocess.run(["node", types_of_typescript, source, TYPESCRIPT / "schema.ts"], check=True)
        with (TYPESCRIPT / "schema.ts").open("a") as schema:
            schema.write('export type Schemas = components["schemas"];\n')
    for path, mark in ((PYTHON / "types.py", "#"), (TYPESCRIPT / "schema.ts", "//")):
        path.write_text(f"{mark} Shapes: {digest(document)}\n{path.read_text()}")
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "format", "-q", PYTHON], check=True)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from config.pages import openapi_document

    write(openapi_document())
