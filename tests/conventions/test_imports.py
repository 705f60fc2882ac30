"""Imports follow one direction: config → operators → licensing → analytics → accounts → kit → Django and DRF."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
# From the ground up; a module imports from its own floor and from those below.
FLOORS = ["kit", "accounts", "analytics", "licensing", "operators", "config"]
# The capabilities of licensing, likewise; those of one floor do not import each other.
CAPABILITIES = [
    ["policies"],
    ["requesters"],
    ["content", "clients"],
    ["licenses", "imports", "sites"],
    ["access"],
    ["customers", "drafts", "edge"],
    ["demo", "license_server"],
]
# The packages of accounts, from the ground up. Endpoints stand above the base of all endpoints (`viewsets`), and that
# above the keys and audit entries it works with. The longest matching name counts.
ROOMS_OF_ACCOUNTS = [
    ["accounts.sealing", "accounts.examples", "accounts.plans.models"],
    ["accounts.events"],
    ["accounts.auditing"],
    ["accounts.plans"],
    ["accounts.keys"],
    ["accounts.retries", "accounts.staff"],
    ["accounts.viewsets"],
    ["accounts.bulk"],
    ["accounts.keys.views", "accounts.auditing.views", "accounts.limits"],
    ["accounts.webhooks"],
    [
        "accounts.event_objects",
        "accounts.management",
        "accounts.models",
        "accounts.openapi",
        "accounts.system_checks",
        "accounts.urls",
    ],
    ["accounts.apps"],
]
# The sections of the admin, likewise.
ROOMS_OF_OPERATORS = [
    ["operators.base"],
    ["operators.login", "operators.templatetags"],
    ["operators.policies", "operators.access"],
    ["operators.customers"],
    ["operators.catalogue", "operators.staff"],
    ["operators.overview", "operators.middleware", "operators.navigation", "operators.suggestions"],
    ["operators.palette", "operators.error_pages", "operators.management", "operators.signed_in"],
    ["operators.site"],
    ["operators.admin", "operators.apps"],
]
ROOMS = {"accounts": ROOMS_OF_ACCOUNTS, "operators": ROOMS_OF_OPERATORS}
DECISION = (
    "decision",
    "rules",
    "conditions",
    "condition_values",
    "facts",
    "coverage",
    "lint",
    "modes",
    "policy_tests",
    "standing",
)
PURE = [
    *(f"licensing/policies/{name}.py" for name in DECISION),
    "licensing/sites/patterns.py",
]
ORM = ("django.db", "licensing.models", "licensing.policies.models", "analytics.models", "accounts.models")


def sources(*folders):
    for folder in folders or FLOORS:
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if "migrations" not in path.parts)


def names_of(*folders):
    return [str(path.relative_to(ROOT)) for path in sources(*folders)]


def floor_of(module):
    return next((n for n, name in enumerate(FLOORS) if module == name or module.startswith(f"{name}.")), None)


def capability_of(module):
    return next(
        (name for floor in CAPABILITIES for name in floor if f"{module}.".startswith(f"licensing.{name}.")), None
    )


def height_of(capability):
    return next(n for n, floor in enumerate(CAPABILITIES) if capability in floor)


@cache
def imported_by(path):
    """Return the modules imported anywhere in a source."""
    names = []
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return names


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", names_of())
def test_a_module_imports_nothing_from_a_floor_above(path):
    own = floor_of(module_name(ROOT / path))
    assert [name for name in imported_by(ROOT / path) if (floor := floor_of(name)) is not None and floor > own] == []


@pytest.mark.parametrize("path", names_of(*(f"licensing/{name}" for floor in CAPABILITIES for name in floor)))
def test_a_capability_of_licensing_imports_only_from_those_below(path):
    own = capability_of(module_name(ROOT / path))
    others = {name for name in map(capability_of, imported_by(ROOT / path)) if name not in (None, own)}
    assert {name for name in others if height_of(name) >= height_of(own)} == set()


def room_of(module, rooms):
    """Return the floor and name of the module's room; None for modules of other apps."""
    found = [
        (len(name), floor, name)
        for floor, names in enumerate(rooms)
        for name in names
        if f"{module}.".startswith(f"{name}.")
    ]
    return max(found)[1:] if found else None


@pytest.mark.parametrize(
    "path", [name for name in names_of("accounts", "operators") if name.count("/") > 1 or "__" not in name]
)
def test_a_room_of_an_app_imports_only_from_those_below(path):
    rooms = ROOMS[path.split("/")[0]]
    own = room_of(module_name(ROOT / path), rooms)
    assert own is not None, f"{path} is in no room: name it in ROOMS"
    imported = {room for name in imported_by(ROOT / path) if (room := room_of(name, rooms)) not in (None, own)}
    assert {room for room in imported if room[0] >= own[0]} == set()


@pytest.mark.parametrize("path", names_of("accounts"))
def test_accounts_imports_models_from_where_they_are_defined(path):
    assert "accounts.models" not in imported_by(ROOT / path)


def test_what_the_capabilities_share_imports_none_of_them():
    gathering = {"models.py", "urls.py", "event_objects.py", "examples.py"}  # for Django, events and OpenAPI
    for path in sorted((ROOT / "licensing").glob("*.py")):
        if path.name not in gathering:
            assert not any(map(capability_of, imported_by(path))), path.name


@pytest.mark.parametrize("path", names_of(*(f"licensing/{name}" for floor in CAPABILITIES for name in floor)))
def test_a_capability_takes_models_from_where_they_are(path):
    assert "licensing.models" not in imported_by(ROOT / path)


def test_no_modules_import_each_other_in_a_circle():
    modules = {module_name(path): path for path in sources()}
    graph = {
        name: {other for other in imported_by(path) if other in modules and other != name}
        for name, path in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@pytest.mark.parametrize("path", PURE)
def test_the_decision_knows_no_database(path):
    assert [name for name in imported_by(ROOT / path) if name.startswith(ORM)] == []


def test_what_the_decision_imports_knows_no_database_either():
    seen, waiting = set(), [ROOT / path for path in PURE]
    while waiting:
        for name in imported_by(waiting.pop()):
            path = ROOT / (name.replace(".", "/") + ".py")
            if name not in seen and path.is_file():
                seen.add(name)
                waiting.append(path)
    assert not any(name.startswith(ORM) for name in seen)


@pytest.mark.parametrize("path", names_of("kit"))
def test_the_shared_machinery_has_no_models(path):
    assert not any("models.Model" in ast.unparse(base) for node in ast.walk(ast.parse((ROOT / path).read_text()))
                   if isinstance(node, ast.ClassDef) for base in node.bases)  # fmt: skip


@pytest.mark.parametrize("path", names_of("kit"))
def test_the_shared_machinery_names_no_app_not_even_in_a_string(path):
    apps = tuple(f"{name}." for name in FLOORS if name != "kit")
    texts = (node.value for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.Constant))
    assert [text for text in texts if isinstance(text, str) and text.startswith(apps)] == []


def test_migrations_import_no_business_code():
    for app in ("accounts", "analytics", "licensing"):
        for path in (ROOT / app / "migrations").glob("*.py"):
            own = {name for name in imported_by(path) if floor_of(name) is not None}
            assert {name for name in own if not name.startswith("kit")} == set()
