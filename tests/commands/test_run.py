"""run.py: setup output, the first operator, and running named tests."""

import io
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from django.core.management import call_command
from django.test import Client

import run
from launcher import documentation, installing, progress
from launcher.processes import RunError, call
from launcher.progress import MigrationNames, PackageCount, Progress
from operators.staff.services import create_operator
from tests.conftest import some_cases
from tests.faults.harness import eventually

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


def test_the_installation_counts_the_packages():
    shown = Shown()
    count = PackageCount(shown, 2)
    for line in PIP.splitlines():
        count.read(line)
    assert shown.texts == [
        "Downloading: 1 of 2 packages",
        "Downloading: 2 of 2 packages",
        "Unpacking 2 packages",
    ]


def test_the_migration_names_what_was_applied():
    shown = Shown()
    for line in ("Operations to perform:", "  Applying accounts.0001_initial... OK", "  No migrations to apply."):
        MigrationNames(shown).read(line)
    assert shown.texts == ["Applied accounts.0001_initial"]


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


def test_output_is_read_while_the_command_runs():
    lines = []
    assert call(sys.executable, "-c", "print('one'); print('two')", read=lines.append) == (0, "")
    assert lines == ["one\n", "two\n"]


# --- Setting up ------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(installing, "must", note)
    monkeypatch.setattr(installing, "installer", lambda: ["pip"])
    monkeypatch.setattr(installing, "works", lambda *_: True)
    monkeypatch.setattr(run, "build_docs", lambda stamp: None)
    return locks


def test_a_set_up_keeps_the_extras_that_the_installation_had(installed, monkeypatch):
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


def test_a_set_up_that_was_cut_short_keeps_the_extras_and_begins_again(installed, monkeypatch):
    run.main(["setup", "--archive"])
    stamp = installing.VENV / "setup.lock"
    stamp.write_text(installing.ARCHIVE)
    (installing.VENV / "half-a-package").touch()
    installed.clear()
    run.main(["setup"])
    assert installed == ["requirements.txt", "requirements-archive.txt"]
    assert not (installing.VENV / "half-a-package").exists()


def test_the_lock_of_the_archive_has_the_pins_of_the_tests():
    def pins(lock):
        return dict(re.findall(r"^(\S+)==(\S+)", (run.ROOT / lock).read_text(), re.MULTILINE))

    archive, dev, runtime = map(pins, (installing.ARCHIVE, installing.DEV, installing.RUNTIME))
    assert archive.items() <= dev.items()
    assert runtime.items() <= archive.items()
    assert {"pyarrow", "pyiceberg", "sqlalchemy"} <= archive.keys()
    assert "--hash=sha256:" in (run.ROOT / installing.ARCHIVE).read_text()


# --- Who can sign in after `run.py --empty` --------------------------------------------------------------------------


def first_operator():
    out = io.StringIO()
    call_command("first_operator", "--json", stdout=out)
    return json.loads(out.getvalue())["operator"]


@pytest.mark.django_db
def test_the_first_operator_can_sign_in():
    operator = first_operator()
    assert operator["address"].endswith("/admin/")
    assert Client().login(username=operator["username"], password=operator["password"])


@pytest.mark.django_db
def test_a_second_one_is_not_made():
    create_operator("anna", superuser=True)
    assert first_operator() is None


@pytest.mark.django_db
def test_without_the_admin_there_is_none(settings):
    settings.ADMIN = False
    assert first_operator() is None


# --- run.py test -----------------------------------------------------------------------------------------------------


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Return the commands that `run.py test` would run."""
    called = []

    def note(*command, **_):
        called.append([str(one) for one in command])
        return 0, ""

    monkeypatch.setattr(run, "call", note)
    monkeypatch.setattr(run, "install", lambda *_: None)
    monkeypatch.setattr("launcher.installing.VENV", tmp_path)
    monkeypatch.setattr("launcher.installing.PYTHON", tmp_path / "bin" / "python")
    return called


@pytest.mark.parametrize("named", ["tests/commands/test_run.py", "tests/commands/test_run.py::test_a", "-knewest"])
def test_named_tests_run_in_one_process_on_sqlite(commands, named):
    assert run.main(["test", named]) == 0
    [command] = commands
    assert command[-3:] == ["-m", "pytest", named]


def test_a_named_file_runs_in_one_process_on_the_leg_that_is_asked_for(commands):
    assert run.main(["test", "--leg", "postgresql", "tests/commands/test_run.py"]) == 0
    [command] = commands
    assert "tests.services" in command
    assert "-n" not in command


@pytest.mark.parametrize("arguments", [[], ["tests/commands"], ["--ignore=tests/commands/test_run.py"]])
def test_everything_else_runs_in_several_processes_on_both_databases(commands, arguments):
    assert run.main(["test", *arguments]) == 0
    assert ["tests.services" in command for command in commands] == [False, True]
    for command in commands:
        assert "-n" in command


def test_a_fast_run_has_some_cases_of_each_test_on_sqlite(commands):
    assert run.main(["test", "--fast"]) == 0
    [command] = commands
    assert command[command.index("--most-cases") + 1] == "4"
    assert "tests.services" not in command


class Case(NamedTuple):
    nodeid: str


@pytest.mark.parametrize(("most", "chosen"), [(1, "a"), (2, "aj"), (3, "aej"), (6, "abdfhj"), (11, "abcdefghij")])
def test_cases_are_chosen_evenly(most, chosen):
    cases = [Case(f"tests/test_a.py::test_a[{case}]") for case in "abcdefghij"]
    other = Case("tests/test_a.py::test_b")
    expected = [Case(f"tests/test_a.py::test_a[{case}]") for case in chosen]
    kept, left_out = some_cases([*cases, other], most)
    assert kept == [*expected, other]
    assert left_out == [case for case in cases if case not in expected]


def test_a_start_goes_on_if_the_documentation_cannot_be_built(monkeypatch, tmp_path, capsys):
    stamp = tmp_path / "setup.lock"
    stamp.write_text("installed")

    def fail(stamp: Path, lock: str) -> None:
        stamp.write_text("")
        raise RunError(f"installing {lock} failed")

    monkeypatch.setattr(documentation, "install", fail)
    documentation.build_docs(stamp)
    assert "installing requirements-docs.txt failed" in capsys.readouterr().err
    assert stamp.read_text() == "installed"  # or the next start would reinstall everything


def test_the_launcher_needs_nothing_but_the_standard_library():
    names = [path.stem for path in (run.ROOT / "launcher").glob("*.py")]
    code = f"import sys; sys.path.insert(0, {str(run.ROOT)!r})\n"
    code += "\n".join(f"import launcher.{name}" for name in names if name != "__init__")
    status, output = call(sys.executable, "-I", "-S", "-c", f"{code}\nprint(*sys.modules)", piped=True)
    assert status == 0
    own = {name.partition(".")[0] for name in output.split()} - sys.stdlib_module_names
    assert own <= {"launcher", "__main__"}
