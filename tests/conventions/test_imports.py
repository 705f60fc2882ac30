"""Imports run one way: config.urls and pages → licensing → analytics → accounts → config.api → Django and DRF."""

import ast
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
# From the ground up; a module imports from its own floor and from those below.
FLOORS = ["config.api", "accounts", "analytics", "licensing", "config"]
PURE = [f"licensing/{name}.py" for name in ("decisions", "rules", "conditions", "facts", "coverage", "lint")]
ORM = ("django.db", "licensing.models", "analytics.models", "accounts.models")


def sources():
    for app in ("config", "accounts", "analytics", "licensing"):
        yield from (path for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts)


def floor_of(module):
    return next((n for n, name in enumerate(FLOORS) if module == name or module.startswith(f"{name}.")), None)


def imported_by(path):
    """The modules that a source imports, wherever in it."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", [str(path.relative_to(ROOT)) for path in sources()])
def test_a_module_imports_nothing_from_a_floor_above(path):
    own = module_name(ROOT / path)
    if own == "config.commands":  # what all apps' commands are built on: machinery without models
        own = "config.api.commands"
    upwards = [
        name
        for name in imported_by(ROOT / path)
        if (floor := floor_of(name)) is not None and floor > floor_of(own) and not name.startswith("config.commands")
    ]
    assert upwards == []


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


@pytest.mark.parametrize("path", [str(path.relative_to(ROOT)) for path in sources() if "api" in path.parts])
def test_the_shared_machinery_has_no_models(path):
    assert not any("models.Model" in ast.unparse(base) for node in ast.walk(ast.parse((ROOT / path).read_text()))
                   if isinstance(node, ast.ClassDef) for base in node.bases)  # fmt: skip


def test_migrations_import_no_business_code():
    for app in ("accounts", "analytics", "licensing"):
        for path in (ROOT / app / "migrations").glob("*.py"):
            allowed = {name for name in imported_by(path) if name.startswith(("config.api", "django"))}
            own = {name for name in imported_by(path) if floor_of(name) is not None}
            assert own <= allowed
