"""Imports follow one direction: config → operators → licensing → analytics → accounts → kit → Django and DRF."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.source_files import ROOT, sources

# From the ground up; a module imports from its own floor and from those below.
FLOORS = ["kit", "accounts", "analytics", "licensing", "operators", "config"]
# The capabilities of licensing, likewise; those of one floor do not import each other.
CAPABILITIES = [
    ["policies"], ["requesters"], ["content", "clients"], ["licenses", "sites"], ["imports"], ["access"],
    ["customers", "drafts", "edge"], ["demo", "license_server", "portal"],
]  # fmt: skip
# The packages of accounts, from the ground up. Endpoints stand above the base of all endpoints (`viewsets`), and that
# above the keys and audit entries it works with. The longest matching name counts.
ROOMS_OF_ACCOUNTS = [
    ["accounts.sealing", "accounts.examples", "accounts.history", "accounts.plans.models"],
    ["accounts.events"],
    ["accounts.auditing"],
    ["accounts.plans"],
    ["accounts.keys"],
    ["accounts.retries", "accounts.staff"],
    ["accounts.viewsets"],
    ["accounts.bulk"],
    ["accounts.keys.views", "accounts.auditing.views", "accounts.limits"],
    ["accounts.plans.usage", "accounts.webhooks"],
    ["accounts.plans.views"],
    ["accounts.management", "accounts.models", "accounts.openapi", "accounts.registrations", "accounts.urls"],
    ["accounts.apps"],
]  # fmt: skip
# The sections of the admin, likewise.
ROOMS_OF_OPERATORS = [
    ["operators.base"], ["operators.login", "operators.templatetags"], ["operators.policies", "operators.access"],
    ["operators.customers"], ["operators.licenses"], ["operators.catalogue", "operators.staff"],
    ["operators.overview", "operators.middleware", "operators.navigation", "operators.suggestions"],
    ["operators.palette", "operators.error_pages", "operators.management", "operators.signed_in"], ["operators.site"],
    ["operators.admin", "operators.apps"],
]  # fmt: skip
LICENSING = [f"licensing/{name}" for floor in CAPABILITIES for name in floor]
ROOMS = {"accounts": ROOMS_OF_ACCOUNTS, "operators": ROOMS_OF_OPERATORS}
DECISION = (
    "decision", "rules", "conditions", "condition_values", "facts", "lint", "modes", "policy_tests",
    "effective_licenses",
)  # fmt: skip
PURE = [
    *(f"licensing/policies/{name}.py" for name in DECISION),
    "licensing/crawler_classes.py",
    "licensing/policies/compiled.py",
    "licensing/policies/matching/coverage.py",
    "licensing/policies/matching/tracing.py",
    "licensing/sites/patterns.py",
]
ORM = ("django.db", "licensing.models", "licensing.policies.models", "analytics.models", "accounts.models")


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


def violations(paths, forbidden):
    """Return "file: import" for each import that `forbidden(own module, imported module)` names."""
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        for name in imported_by(path)
        if forbidden(module_name(path), name)
    ]


def test_a_module_imports_nothing_from_a_floor_above():
    def is_above(own, imported):
        floor = floor_of(imported)
        return floor is not None and floor > floor_of(own)

    assert violations(sources(*FLOORS), is_above) == []


def test_a_capability_of_licensing_imports_only_from_those_below():
    def is_beside_or_above(own, imported):
        capability, other = capability_of(own), capability_of(imported)
        return other not in (None, capability) and height_of(other) >= height_of(capability)

    assert violations(sources(*LICENSING), is_beside_or_above) == []


def room_of(module, rooms):
    """Return the floor and name of the module's room; None for modules of other apps."""
    found = [
        (len(name), floor, name)
        for floor, names in enumerate(rooms)
        for name in names
        if f"{module}.".startswith(f"{name}.")
    ]
    return max(found)[1:] if found else None


def test_a_room_of_an_app_imports_only_from_those_below():
    homeless, upward = [], []
    for path in sources("accounts", "operators"):
        name = module_name(path)
        if "." not in name:
            continue
        rooms = ROOMS[name.partition(".")[0]]
        own = room_of(name, rooms)
        if own is None:
            homeless.append(name)
            continue
        for imported in imported_by(path):
            room = room_of(imported, rooms)
            if room not in (None, own) and room[0] >= own[0]:
                upward.append(f"{name}: {imported}")
    assert homeless == [], "Name their room in ROOMS."
    assert upward == []


def test_modules_import_models_from_where_they_are_defined():
    gathered = {"accounts": "accounts.models", "licensing": "licensing.models"}

    def is_gathered(own, imported):
        return imported == gathered[own.partition(".")[0]]

    assert violations(sources("accounts", *LICENSING), is_gathered) == []


def test_shared_modules_import_no_capability():
    gathering = {"models.py", "urls.py", "registrations.py", "examples.py"}  # for Django, events and OpenAPI
    shared = [path for path in sorted((ROOT / "licensing").glob("*.py")) if path.name not in gathering]
    assert shared
    for path in shared:
        assert not any(map(capability_of, imported_by(path))), path.name


def test_no_modules_import_each_other_in_a_circle():
    modules = {module_name(path): path for path in sources(*FLOORS)}
    graph = {
        name: {other for other in imported_by(path) if other in modules and other != name}
        for name, path in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_the_decision_and_all_that_it_imports_know_no_database():
    waiting = [ROOT / path for path in PURE]
    assert violations(waiting, lambda _, imported: imported.startswith(ORM)) == []
    seen = set()
    while waiting:
        for name in imported_by(waiting.pop()):
            path = ROOT / (name.replace(".", "/") + ".py")
            if name not in seen and path.is_file():
                seen.add(name)
                waiting.append(path)
    assert [name for name in seen if name.startswith(ORM)] == []


def test_the_shared_code_has_no_models_and_names_no_app_not_even_in_a_string():
    apps = tuple(f"{name}." for name in FLOORS if name != "kit")
    models, names = [], []
    for path in sources("kit"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any("models.Model" in ast.unparse(base) for base in node.bases):
                models.append(f"{path}: {node.name}")
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(apps):
                names.append(f"{path}: {node.value}")
    assert models == []
    assert names == []


def test_migrations_import_no_business_code():
    for app in ("accounts", "analytics", "licensing"):
        for path in (ROOT / app / "migrations").glob("*.py"):
            own = {name for name in imported_by(path) if floor_of(name) is not None}
            assert {name for name in own if not name.startswith("kit")} == set()


def test_test_modules_import_nothing_from_each_other():
    """What several of them need is in a module of its own, which names what it is."""
    test_module = re.compile(r"tests(\.\w+)*\.test_\w+")
    paths = [
        path for path in sources("tests") if path.name != "test_these_tests.py"
    ]  # it calls the tests that it proves
    assert violations(paths, lambda _, imported: test_module.match(imported)) == []
