import gzip
import importlib
import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands

from tests.documentation.blocks import block, blocks, commands
from tests.faults.harness import Deployment
from tests.served import installed

# Commands that are documented without their arguments, or are run elsewhere for a reason.
ELSEWHERE = {
    "build_docs": "takes long: tests/documentation/test_site.py",
    "copy_to": "a name without its arguments",
    'copy_to "$TARGET"': "needs another database: tests/commands/test_copy_to.py",
    "create_api_key": "a name without its arguments",
    "reset_second_factor": "a name without its arguments",
    "update_crawlers": "a name without its arguments",
    "delete_account acc_… --name NAME": "of one that others need: tests/admin/test_account_deletion.py",
    "remove_demo acc_…": "of a demo, which takes long to make: tests/commands/test_seed_demo.py",
    "import_access_log access.log --site pub.example": "tests/documentation/test_logs.py",
    "import_access_log access.log --site pub.example --dry-run": "tests/documentation/test_logs.py",
    "report": "a name without its arguments",
    "report --engine sc://spark.internal:15002 --year 2026": "tests/analytics/test_archive_report.py",
    "serve": "has no end: it is what every test of this folder calls",
    "runserver": "has no end: tests/edge/test_in_django.py",
    "deliver_webhooks": "has no end: tests/faults/test_webhooks.py",
}
REFUSED = {"flush": "couldn't be flushed"}  # for the audit log's sake
PRINTED = sorted({command for _, command in commands()})
ARTWORK = {"acno": "A1", "title": "Moonrise", "artist": "Ada", "url": "https://pub.example/a1", "medium": "Oil"}
INDEX = "subfolder_name,dataset_url,article_url\nMarkets,https://data.example/1,https://pub.example/markets\n"
RATES = "Date,USD,JPY,\n2026-10-30,1.1172,175.68,\n"
Run = Callable[[str], str]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """An installation apart from the shared service: `update_crawlers`, for one, changes it for all accounts."""
    with installed(tmp_path_factory.mktemp("commands")) as made:
        yield made


@pytest.fixture
def run(installation: Deployment, tmp_path: Path) -> Run:
    """Run a documented command with real values for its placeholders; return its output."""
    [(account, *_)] = installation.ask_shell("accounts", 1)
    key = installation.manage("create_api_key", "--account", account, "--name", "Old", "--type", "secret")
    files = {
        "artworks.jsonl.gz": gzip.compress(json.dumps({**ARTWORK, "subjects": ["moon"]}).encode()),
        "index.csv": INDEX.encode(),
        "rates.csv": RATES.encode(),
        "gptbot.json": json.dumps({"prefixes": [{"ipv4Prefix": "198.51.100.0/28"}]}).encode(),
        "crawlers.json": block("docs/reference/edge.md", '{"date"').encode(),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    placeholders = {"acc_…": account, "key_…": key["id"], "N": "400", "NAME": account}
    of_command = {"import_exchange_rates": "rates.csv", "update_crawlers": "crawlers.json"}

    def run(printed: str) -> str:
        name, *arguments = shlex.split(printed)
        filled = [placeholders.get(argument, argument) for argument in arguments]
        filled = [of_command.get(name, argument) if argument == "FILE" else argument for argument in filled]
        filled = [str(tmp_path / argument) if argument in files else argument for argument in filled]
        return str(installation.ask_shell("manage", name, *filled))

    return run


@pytest.mark.parametrize("printed", [one for one in PRINTED if "[" not in one and one not in {*ELSEWHERE, *REFUSED}])
def test_a_printed_command_succeeds(run: Run, printed: str):
    if printed.startswith("reset_second_factor"):
        run("create_operator NAME --superuser")
    run(printed)


@pytest.mark.parametrize("printed", REFUSED)
def test_commands_documented_as_refused_are_refused(run: Run, printed: str):
    with pytest.raises(AssertionError, match=REFUSED[printed]):
        run(f"{printed} --no-input")


def test_other_printed_commands_exist_and_blocks_name_the_python_that_has_the_packages():
    synopses = [one for one in PRINTED if "[" in one]
    assert {one.partition(" ")[0] for one in [*synopses, *ELSEWHERE]} <= get_commands().keys()
    assert set(ELSEWHERE) <= set(PRINTED)
    lines = [(one.path, line) for one in blocks() for line in one.text.splitlines()]
    assert [(path, line) for path, line in lines if re.match(r"python3? (manage\.py|-m)", line)] == []


def test_the_benchmarks_explain_their_options(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["benchmark", "--help"])
    names = set(re.findall(r"python -m (benchmarks\.\w+)", Path("benchmarks/README.md").read_text()))
    modules = [importlib.import_module(name) for name in names]
    for module in modules:
        if hasattr(module, "parser"):
            with pytest.raises(SystemExit, match="0"):
                module.main()
    assert len(modules) > 10


def test_an_import_reports_as_the_guide_shows(run: Run):
    shown = json.loads(block("docs/guides/importing.md", '{"object"'))
    [printed] = [one for one in PRINTED if one.startswith("import_content index.csv")]
    told = json.loads(run(f"{printed} --json").splitlines()[-1])
    assert {name: type(value) for name, value in told.items()} == {name: type(value) for name, value in shown.items()}
    assert (told["created"], told["failed"]) == (1, 0)
    assert json.loads(run(f"{printed} --json").splitlines()[-1])["unchanged"] == 1
