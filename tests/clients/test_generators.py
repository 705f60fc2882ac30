"""Generated clients: type-checked and run through the README's story, unpatched.

What was generated and compiled from the same document with the same programs is kept for later runs (tests/kept.py).
"""

import json
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from run import ROOT
from tests.clients.later import assert_is_understood
from tests.documentation.running import ran
from tests.kept import kept, program
from tests.openapi.node import FOLDER, needs_node, run
from tests.served import Service

HERE = Path(__file__).parent
GUIDE = HERE.parents[1] / "docs" / "guides" / "clients.md"
GENERATOR = Path(sys.executable).parent / "openapi-python-client"
TOOLS_FIRST = f"{GENERATOR.parent}:{os.environ['PATH']}"  # ruff formats what is generated

OPENAPI_GENERATOR = GENERATOR.with_name("openapi-generator-cli")
JAR = Path(sysconfig.get_path("purelib"), "openapi_generator_cli", "openapi-generator.jar")
FROM_DEBIAN = {  # packages that a generated client needs
    "go": Path("/usr/share/gocode/src/gopkg.in/validator.v2"),
    "java": Path("/usr/share/java/geronimo-annotation-1.3-spec.jar"),
    "php": Path("/usr/share/php/GuzzleHttp/autoload.php"),
}

needs_generator = pytest.mark.skipif(
    not GENERATOR.exists(), reason="openapi-python-client is not installed: run `python3 run.py setup --dev`."
)
MODULES = {"module": "esnext", "moduleResolution": "bundler", "target": "es2022"}
COMPILER = {**MODULES, "strict": True, "lib": ["es2022", "dom", "dom.iterable"], "types": [], "outDir": "built"}
LICENSED = {"licenseType": ["commercial"], "hasValidLicense": True}
RULES = [
    {"action": "allow", "conditions": LICENSED, "permissions": ["full_access"], "priority": 1},
    {"action": "deny", "conditions": {"default": True}, "message": "Buy a licence.", "priority": 99},
]
SAW: dict[str, Any] = {
    "denied": [False, "no_license"],
    "allowed": [True, ["full_access"]],
    "charge": {"amount": 0.05, "currency": "USD"},
    "total": 0.05,
    "found": ["Markets"],
    "file": 4,
    "missing": "resource_not_found",
}
# Java's second compiler and parallel collector cost more than such short programs gain by them.
SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def saw(*command: object, cwd: Path, **environment: str) -> dict[str, Any]:
    """Return the story's output; fail with its error."""
    told = ran(*command, cwd=cwd, PYTHONPATH=str(cwd), PATH=TOOLS_FIRST, **SHORT_LIVED, **environment)
    return json.loads(told) if told.startswith("{") else {}


def built(document: Path, story: str, make: Callable[[Path], None], *programs: str) -> Path:
    """Return the directory of a client and its story, which `make` generates and compiles."""
    locks = [ROOT / "requirements-dev.txt", ROOT / "requirements-edge.txt", FOLDER / "package-lock.json"]
    return kept(story, [document, GUIDE, HERE / story, Path(__file__), *locks, *map(program, programs)], make)


@needs_generator
def test_openapi_python_client(document: Path, service: Service, later_version: Service):
    def make(made: Path) -> None:
        saw(GENERATOR, "generate", "--path", document, "--output-path", made / "made", "--fail-on-warning", cwd=made)
        story = shutil.copy(HERE / "story_openapi_python_client.py", made / "made")
        strictly = ("--strict", "--config-file", "/dev/null", "--no-incremental")
        saw(sys.executable, "-m", "mypy", *strictly, story, cwd=made / "made")

    made = built(document, "story_openapi_python_client.py", make, sys.executable) / "made"
    told = saw(sys.executable, "story_openapi_python_client.py", service.url, service.key, cwd=made)
    stats = {"totalRequests": 2, "allowedRequests": 1, "deniedRequests": 1}
    assert told == {**SAW, "explained": [True, True], "stats": stats}
    later = saw(sys.executable, "story_openapi_python_client.py", later_version.url, later_version.key, cwd=made)
    assert_is_understood(later, SAW)


def needs(language: str, *commands: str) -> pytest.MarkDecorator:
    is_there = JAR.exists() and FROM_DEBIAN[language].exists() and all(map(shutil.which, ("java", *commands)))
    return pytest.mark.skipif(not is_there, reason=f"No generator or no {language}: docs/contributing/development.md.")


def generate(language: str, document: Path, made: Path) -> None:
    """Generate a client with the command in the docs."""
    [command] = [line for line in GUIDE.read_text().splitlines() if f"generate -g {language} " in line]
    placed = command.replace("openapi.json", str(document)).replace(f"{language}-client", str(made))
    made.mkdir(parents=True, exist_ok=True)
    saw(OPENAPI_GENERATOR, *shlex.split(placed)[1:], cwd=made)


SAW_WITH_WEBHOOK = {name: value for name, value in SAW.items() if name != "file"} | {"hook": ["license.*"]}


@needs("go", "go")
def test_openapi_generator_for_go(tmp_path: Path, document: Path, service: Service, later_version: Service):
    def make(made: Path) -> None:
        source = tmp_path / "src"
        generate("go", document, source / "licensing")
        (source / "story").mkdir(parents=True)
        shutil.copy(HERE / "story_openapi_generator.go", source / "story" / "main.go")
        offline = {"GO111MODULE": "off", "GOPATH": f"{tmp_path}:/usr/share/gocode", "GOCACHE": str(tmp_path / "cache")}
        saw("go", "build", "-o", made / "story", ".", cwd=source / "story", **offline)

    story = built(document, "story_openapi_generator.go", make, "go", "java") / "story"
    told = saw(story, service.url, service.key, cwd=tmp_path)
    assert told.pop("rules") == RULES
    assert told == SAW_WITH_WEBHOOK
    assert_is_understood(saw(story, later_version.url, later_version.key, cwd=tmp_path), SAW)


@needs("java", "javac")
def test_openapi_generator_for_java(tmp_path: Path, document: Path, service: Service, later_version: Service):
    # The generator's jar has the JSON library that its clients use; Debian's lacks a module.
    classes = f"built:{JAR}:{FROM_DEBIAN['java']}:/usr/share/java/jsr305.jar:/usr/share/java/httpmime.jar"

    def make(made: Path) -> None:
        generate("java", document, tmp_path / "made")
        shutil.copy(HERE / "story_openapi_generator.java", tmp_path / "Story.java")
        sources = sorted((tmp_path / "made" / "src" / "main").rglob("*.java"))
        saw("javac", "-nowarn", "-d", made / "built", "-cp", classes, *sources, "Story.java", cwd=tmp_path)

    made = built(document, "story_openapi_generator.java", make, "java", "javac")
    told = saw("java", "-cp", classes, "Story", service.url, service.key, cwd=made)
    assert [{name: value for name, value in rule.items() if value is not None} for rule in told.pop("rules")] == RULES
    assert told == SAW_WITH_WEBHOOK
    later = saw("java", "-cp", classes, "Story", later_version.url, later_version.key, cwd=made)
    assert_is_understood(later, SAW)


@needs("php", "php")
def test_openapi_generator_for_php(document: Path, service: Service, later_version: Service):
    def make(made: Path) -> None:
        generate("php", document, made)
        shutil.copy(HERE / "story_openapi_generator.php", made / "story.php")

    made = built(document, "story_openapi_generator.php", make, "java")
    story = made / "story.php"
    strictly = ("-d", "error_reporting=E_ALL & ~E_DEPRECATED", "-d", "zend.assertions=1")
    told = saw("php", *strictly, story, service.url, service.key, cwd=made)
    assert told.pop("rules") == RULES
    assert told == SAW_WITH_WEBHOOK
    assert_is_understood(saw("php", *strictly, story, later_version.url, later_version.key, cwd=made), SAW)


def test_the_guide_names_the_media_type_that_openapi_fetch_needs():
    call = 'createClient<paths, "application/json">('
    assert [path.name for path in (GUIDE, HERE / "story_openapi_typescript.ts") if call not in path.read_text()] == []


@needs_node
@pytest.mark.parametrize("generator", ["openapi-typescript", "hey-api"])
def test_generators_of_typescript(generator, tmp_path, document, service, later_version):
    name = f"story_{generator.replace('-', '_')}.ts"

    def make(made: Path) -> None:
        (tmp_path / "node_modules").symlink_to(FOLDER / "node_modules")
        (tmp_path / "package.json").write_text('{"type": "module"}')
        shutil.copy(HERE / name, tmp_path / "story.ts")
        (tmp_path / "globals.d.ts").write_text("declare const process: { argv: string[] };\n")
        if generator == "openapi-typescript":
            run("openapi-typescript", document, "-o", tmp_path / "generated.ts")
        else:
            run("openapi-ts", "-i", document, "-o", tmp_path / "generated")
        (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": COMPILER, "include": ["*.ts"]}))
        run("tsc", "-p", tmp_path)
        # The generated code is for bundlers: its imports have no extensions, which Node cannot resolve.
        run("esbuild", tmp_path / "built" / "story.js", "--bundle", "--format=esm", f"--outfile={made}/story.mjs")

    story = built(document, name, make, "node") / "story.mjs"
    told = saw("node", story, service.url, service.key, cwd=tmp_path)
    assert told.pop("rules") == RULES
    assert told == SAW
    assert_is_understood(saw("node", story, later_version.url, later_version.key, cwd=tmp_path), SAW)
