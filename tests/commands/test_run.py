import fcntl
import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from django.core.management import call_command
from django.test import Client

import run
from launcher import documentation, installing, progress, testing
from launcher.processes import RunError, call
from launcher.progress import PackageCount, Progress
from launcher.testing import PARTS_WITH_SERVERS, Phase
from operators.staff.services import create_operator
from tests.faults.harness import eventually
from tests.selection import (
    BOTH_DATABASES,
    DATABASES,
    EVERY_SAMPLE,
    EVERY_SECOND_SAMPLE,
    ON_POSTGRESQL_ALONE,
    ON_SQLITE_ALONE,
    ONLY_IN_ALL,
    PARTS_OF_CASES,
    PARTS_OF_FILES,
    SPLIT_BETWEEN_DATABASES,
    TESTS,
    is_left_out,
    is_listed,
    sampled_cases,
    some_cases,
)
from tests.services import free_port

PIP = """\
Collecting a2wsgi==1.10.10 (from -r requirements.txt (line 3))
  Downloading a2wsgi-1.10.10-py3-none-any.whl
Collecting anyio==4.9.0 (from -r requirements.txt (line 6))
Installing collected packages: anyio, a2wsgi
Successfully installed a2wsgi-1.10.10 anyio-4.9.0
"""


class Shown(Progress):
    """Progress output that stores its texts."""

    def __init__(self):
        super().__init__("")
        self.texts = []

    def show(self, text):
        self.texts.append(text)


def test_the_installation_counts_the_packages_while_it_runs():
    shown = Shown()
    count = PackageCount(shown, 2)
    for line in PIP.splitlines():
        count.read(line)
    assert shown.texts == ["Downloading: 1 of 2 packages", "Downloading: 2 of 2 packages", "Unpacking 2 packages"]
    lines = []
    assert call(sys.executable, "-c", "print('one'); print('two')", read=lines.append) == (0, "")
    assert lines == ["one\n", "two\n"]


@pytest.mark.parametrize(("is_terminal", "ends_with"), [(True, "\r\033[K"), (False, " s)\n")])
def test_a_step_says_again_and_again_how_far_it_is(monkeypatch, is_terminal, ends_with):
    out = io.StringIO()
    out.isatty = lambda: is_terminal
    monkeypatch.setattr(sys, "stdout", out)
    for name in ("SECONDS_IN_TERMINAL", "SECONDS_IN_LOG"):
        monkeypatch.setattr(progress, name, 0.01)
    with Progress("Installing …") as step:
        step.show("3 of 9 packages")
        assert eventually(lambda: out.getvalue().count("  3 of 9 packages (0 s)") > 1)
    assert out.getvalue().startswith("Installing …\n")
    assert out.getvalue().endswith(ends_with)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Return the locks that set-ups install into an empty folder, instead of installing them."""
    locks, venv = [], tmp_path / ".venv"
    python = venv / "bin" / "python"

    def note(doing, *command, **_):
        locks.append(Path(command[-1]).name)
        python.parent.mkdir(exist_ok=True)
        python.touch()

    monkeypatch.setattr(installing, "VENV", venv)
    monkeypatch.setattr(installing, "PYTHON", python)
    monkeypatch.setattr(installing, "run_step", note)
    monkeypatch.setattr(installing.shutil, "which", lambda _: None)
    monkeypatch.setattr(installing, "succeeds", lambda *_: True)
    monkeypatch.setattr(run, "build_docs", lambda: None)
    return locks


def test_a_set_up_keeps_the_extras_that_the_installation_had_even_if_it_was_cut_short(installed, monkeypatch):
    assert run.main(["setup"]) == 0
    assert installed == ["requirements.txt"]
    assert run.main(["setup", "--archive"]) == 0
    assert installed == ["requirements.txt", "requirements-archive.txt"]
    installed.clear()
    monkeypatch.setattr(installing, "digest", lambda lock: f"digest of the next version of {lock}".replace(" ", "-"))
    assert run.main(["setup"]) == 0
    assert installed == ["requirements.txt", "requirements-archive.txt"]
    assert run.main(["setup"]) == 0
    assert installed == ["requirements.txt", "requirements-archive.txt"]

    run.main(["setup", "--archive"])
    stamp = installing.VENV / "setup.lock"
    stamp.write_text(installing.ARCHIVE)
    (installing.VENV / "half-a-package").touch()
    installed.clear()
    run.main(["setup"])
    assert installed == ["requirements.txt", "requirements-archive.txt"]
    assert not (installing.VENV / "half-a-package").exists()


@pytest.mark.parametrize("status", [0, 1])
def test_packages_are_installed_by_uv_or_if_it_fails_by_pip(installed, monkeypatch, status):
    commands = []

    def call_uv(*command, env):
        commands.append((command, env["UV_DEFAULT_INDEX"]))
        return status, ""

    monkeypatch.setattr(installing.shutil, "which", lambda _: "/usr/bin/uv")
    monkeypatch.setattr(installing, "call", call_uv)
    monkeypatch.setenv("PIP_INDEX_URL", "https://packages.example/simple")
    run.main(["setup"])
    [(command, index)] = commands
    assert command[:3] == ("uv", "pip", "install")
    assert "--require-hashes" in command
    assert index == "https://packages.example/simple"
    assert installed == ([] if status == 0 else ["requirements.txt"])
    assert installing.digest(installing.RUNTIME) in installing.digests_in(installing.VENV / "setup.lock")


def test_the_lock_of_the_archive_has_the_pins_of_the_tests():
    def pins(lock):
        return dict(re.findall(r"^(\S+)==(\S+)", (run.ROOT / lock).read_text(), re.MULTILINE))

    archive, dev, runtime = map(pins, (installing.ARCHIVE, installing.DEV, installing.RUNTIME))
    assert archive.items() <= dev.items()
    assert runtime.items() <= archive.items()
    assert {"pyarrow", "pyiceberg", "sqlalchemy"} <= archive.keys()
    assert "--hash=sha256:" in (run.ROOT / installing.ARCHIVE).read_text()


def first_operator():
    out = io.StringIO()
    call_command("first_operator", "--json", stdout=out)
    return json.loads(out.getvalue())["operator"]


@pytest.mark.django_db
def test_the_first_operator_is_made_once_with_the_admin_and_can_sign_in(settings):
    operator = first_operator()
    assert operator["address"].endswith("/admin/")
    assert Client().login(username=operator["username"], password=operator["password"])
    create_operator("anna", superuser=True)
    assert first_operator() is None
    settings.ADMIN = False
    assert first_operator() is None


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Return the commands that `run.py test` would run."""
    called = []

    def note(*command, **_):
        called.append([str(word) for word in command])
        return subprocess.Popen(["true"])

    monkeypatch.setattr(testing, "start", note)
    monkeypatch.setattr(testing, "install", lambda *_: None)
    monkeypatch.setattr("launcher.installing.VENV", tmp_path)
    monkeypatch.setattr("launcher.installing.PYTHON", tmp_path / "bin" / "python")
    return called


def test_named_tests_run_in_one_process_and_folders_whole_on_both_databases(commands):
    for named in ("tests/commands/test_run.py", "tests/commands/test_run.py::test_a", "-knewest"):
        assert run.main(["test", named]) == 0
        assert commands.pop()[-3:] == ["-m", "pytest", named]
        assert commands == []
    assert run.main(["test", "--leg", "postgresql", "tests/commands/test_run.py"]) == 0
    command = commands.pop()
    assert ("tests.services" in command, "-n" in command) == (True, False)
    assert run.main(["test", "tests/commands"]) == 0
    assert ["tests.services" in command for command in commands] == [False, True]
    for command in commands:
        assert "-n" in command
        assert not {"--sample", "--part"} & set(command)


@pytest.mark.parametrize("arguments", [[], ["--all"], ["--durations=20"]])
def test_the_gate_and_everything_run_on_both_databases_first_in_process_then_with_servers(commands, arguments):
    assert run.main(["test", *arguments]) == 0
    assert ["tests.services" in command for command in commands] == [False, True, False, True, False, True]
    parts = [command[command.index("--part") + 1] for command in commands]
    assert parts == ["in-process", "in-process", "servers", "servers", "browser", "world"]
    assert ["-n" in command for command in commands] == [True, True, False, False, False, False]
    assert [("--sample" in command) for command in commands] == [arguments != ["--all"]] * 6


def test_two_phases_in_process_share_the_workers_of_one(monkeypatch):
    for workers, alone, each in ((3, "3", "2"), (5, "5", "3"), (17, "8", "8")):
        monkeypatch.setattr(testing, "WORKERS", workers)
        assert testing.add_workers([])[1] == alone
        assert testing.add_workers([], phases=2)[1] == each


def test_samples_can_be_repeated_and_fast_runs_have_some_cases_of_each_test_on_sqlite(commands):
    assert run.main(["test", "--sample", "7", "--leg", "sqlite"]) == 0
    assert [command[command.index("--sample") + 1] for command in commands] == ["7", "7", "7"]
    commands.clear()
    assert run.main(["test", "--fast"]) == 0
    [command] = commands
    assert command[command.index("--most-cases") + 1] == "4"
    assert "tests.services" not in command


SIDE_BY_SIDE = [Phase("sqlite", "servers", []), Phase("postgresql", "servers", [])]


def test_phases_run_side_by_side_and_the_output_of_the_second_follows(monkeypatch, tmp_path, capfd):
    def start(run):
        """Let the first side wait for the second, which fails."""
        script = "until [ -f done ]; do :; done; echo SQLite ran"
        if run.phase.leg == "postgresql":
            script = "echo PostgreSQL ran; touch done; exit 1"
        return testing.start("sh", "-c", script, folder=tmp_path, stdout=run.output)

    monkeypatch.setattr(testing.Run, "start", start)
    results = testing.run_phases(SIDE_BY_SIDE)
    assert [passed for passed, _ in results] == [True, False]
    assert "FAILED: exit status 1" in results[1][1]
    shown = capfd.readouterr().out
    assert shown.index("SQLite ran") < shown.index("output ===") < shown.index("PostgreSQL ran")


def test_a_phase_waits_until_one_of_as_many_as_there_are_workers_has_ended(monkeypatch, tmp_path, capfd):
    def start(run):
        script = "test ! -f running && touch running && rm running"
        return testing.start("sh", "-c", script, folder=tmp_path, stdout=run.output)

    monkeypatch.setattr(testing, "WORKERS", 1)
    monkeypatch.setattr(testing.Run, "start", start)
    assert [passed for passed, _ in testing.run_phases(SIDE_BY_SIDE * 2)] == [True] * 4


def test_an_interruption_ends_all_phases():
    code = """if True:
        import signal, time
        from types import SimpleNamespace
        from launcher import testing
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        processes = []

        def start(run):
            processes.append(testing.start("sleep", "600"))
            return processes[-1]

        def wait(seconds):
            print(*(process.pid for process in processes), flush=True)
            time.sleep(600)

        testing.Run.start = start
        testing.time = SimpleNamespace(monotonic=time.monotonic, sleep=wait)
        testing.run_phases([testing.Phase("sqlite", "", []), testing.Phase("postgresql", "", [])])
    """
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=run.ROOT, stdout=subprocess.PIPE, text=True) as process:
        numbers = next(line.split() for line in process.stdout if line.strip()[:1].isdigit())
        process.send_signal(signal.SIGINT)
        assert process.wait(60) != 0
    assert len(numbers) == 2
    assert not [number for number in numbers if Path("/proc", number).exists()]


def test_an_interrupted_command_ends_without_a_traceback():
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); signal.raise_signal(signal.SIGINT)"
    )
    command = [sys.executable, "manage.py", "shell", "-c", code]
    done = subprocess.run(command, cwd=run.ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_the_samples_of_the_gate_have_each_file_on_each_of_its_databases():
    alone = {"sqlite": ON_POSTGRESQL_ALONE, "postgresql": ON_SQLITE_ALONE}  # what the other one has alone
    for path in TESTS.rglob("test_*.py"):
        if "node_modules" in path.parts:
            continue
        for vendor in DATABASES:
            own = ["in-process", *(part for leg, part in PARTS_WITH_SERVERS if leg == vendor)]
            parts = [part for part in own if not is_left_out(path, part, None, vendor)]
            assert len(parts) == (not is_listed(path, alone[vendor])), path
            samples = [sample for sample in range(12) if not is_left_out(path, None, sample, vendor)]
            assert bool(samples) == (bool(parts) and not is_listed(path, ONLY_IN_ALL)), path


def test_the_tables_of_the_selection_name_files_that_exist():
    tables = [
        BOTH_DATABASES,
        EVERY_SAMPLE,
        EVERY_SECOND_SAMPLE[0],
        EVERY_SECOND_SAMPLE[1],
        ONLY_IN_ALL,
        ON_POSTGRESQL_ALONE,
        ON_SQLITE_ALONE,
        SPLIT_BETWEEN_DATABASES,
    ]
    listed = [(folder, names) for table in tables for folder, names in table.items()]
    assert [folder for folder, _ in listed if not (TESTS / folder).is_dir()] == []
    assert [name for folder, names in listed for name in names if not (TESTS / folder / f"{name}.py").exists()] == []
    in_parts = [*PARTS_OF_CASES, *PARTS_OF_FILES]
    assert [name for name in in_parts if not ((TESTS / f"{name}.py").exists() or (TESTS / name).is_dir())] == []


class Case(NamedTuple):
    nodeid: str
    path: Path


def cases_of(path: str) -> list[Case]:
    return [Case(f"tests/{path}::test_a[{case}]", TESTS / path) for case in "abcdefghij"]


def names(cases: list[Case]) -> str:
    return "".join(case.nodeid[-2] for case in cases)


def test_cases_are_chosen_evenly_and_in_turn():
    for most, chosen in ((1, "a"), (2, "aj"), (3, "aej"), (6, "abdfhj"), (11, "abcdefghij")):
        assert names(some_cases(cases_of("commands/test_run.py"), most)) == chosen
    cases = cases_of("faults/proxies/test_hosts.py")
    assert [names(sampled_cases(cases, sample, "sqlite")) for sample in (0, 3, 4, 8)] == ["adgj", "adgj", "beh", "cfi"]
    few = cases_of("conventions/test_openapi_fuzz.py")[:2]  # more parts than cases
    assert [names(sampled_cases(few, sample, "sqlite")) for sample in (0, 4, 8)] == ["a", "b", "a"]
    split = cases_of("conventions/test_lists.py")
    assert [names(sampled_cases(split, 4, vendor)) for vendor in DATABASES] == ["acegi", "bdfhj"]
    whole = cases_of("conventions/test_permissions.py")
    assert sampled_cases(whole, 1, "sqlite") == whole


@pytest.mark.parametrize("cause", [RunError("no network"), KeyboardInterrupt(), SystemExit(143)])
def test_a_set_up_keeps_its_packages_if_those_of_the_documentation_are_cut_short(
    installed, monkeypatch, tmp_path, capsys, cause
):
    run.main(["setup"])
    stamp = installing.VENV / "setup.lock"
    before = stamp.read_text()

    def fail(doing: str, *command: object, **_: object) -> None:
        raise cause

    monkeypatch.setattr(installing, "run_step", fail)
    monkeypatch.setattr(documentation, "BUILD_RECORD", tmp_path / "site" / "build.json")
    with suppress(KeyboardInterrupt, SystemExit):
        documentation.build_docs()
        assert "The pages of /docs/ were not built: no network" in capsys.readouterr().err
    assert stamp.read_text() == before  # or the next start would reinstall everything


@pytest.mark.usefixtures("installed")
def test_the_documentation_is_built_if_a_source_is_newer_and_then_not_again(monkeypatch, tmp_path):
    built, page, steps = tmp_path / "site" / "build.json", tmp_path / "docs" / "start" / "page.md", []
    for path in (page, built):  # the folder of the page is a source, too, and older than the site
        path.parent.mkdir(parents=True)
        path.touch()

    def build(step: str, *command: str, env: dict[str, str]) -> None:
        with (installing.VENV / "setup.lock").open("a") as lock:  # free: no start waits for a build
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        steps.append(command[-1])

    monkeypatch.setattr(documentation, "ROOT", tmp_path)
    monkeypatch.setattr(documentation, "BUILD_RECORD", built)
    monkeypatch.setattr(documentation, "install", lambda stamp, lock: steps.append(lock))
    monkeypatch.setattr(documentation, "run_step", build)
    os.utime(page, (1, 1))
    documentation.build_docs()
    assert steps == []
    os.utime(built, (0, 0))
    documentation.build_docs()
    documentation.build_docs()
    assert steps == ["requirements-docs.txt", "--if-changed"]


def test_the_process_that_builds_the_documentation_ends_with_the_service():
    build = f"{sys.executable} {run.ROOT / 'run.py'} {documentation.DOCS_ARGUMENT} $$"
    environment = {**os.environ, "PORT": str(free_port())}
    # The shell stands for a service, which ends before it answers.
    status, output = call("sh", "-c", f"{build} >/dev/null 2>&1 & echo $!", piped=True, env=environment)
    assert status == 0
    words = Path("/proc", output.strip(), "cmdline")  # empty once it has ended
    assert eventually(lambda: not words.exists() or not words.read_bytes(), seconds=120)


def test_the_launcher_needs_nothing_but_the_standard_library():
    names = [path.stem for path in (run.ROOT / "launcher").glob("*.py")]
    code = f"import sys; sys.path.insert(0, {str(run.ROOT)!r})\n"
    code += "\n".join(f"import launcher.{name}" for name in names if name != "__init__")
    status, output = call(sys.executable, "-I", "-S", "-c", f"{code}\nprint(*sys.modules)", piped=True)
    assert status == 0
    own = {name.partition(".")[0] for name in output.split()} - sys.stdlib_module_names
    assert own <= {"launcher", "__main__"}


@pytest.mark.parametrize("arguments", [["--help"], ["test", "--help"], ["setup", "-h"]])
def test_a_question_for_help_shows_the_options_and_does_nothing_else(arguments, capsys, monkeypatch):
    monkeypatch.setattr(run, "run_tests", lambda arguments: pytest.fail("the tests ran"))
    assert run.main(arguments) == 0
    assert "--leg sqlite|postgresql" in capsys.readouterr().out
