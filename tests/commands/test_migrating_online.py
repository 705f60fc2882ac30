import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import OperationalError, connection, migrations, models, transaction
from django.db.migrations.state import ModelState, ProjectState

from config.migrating import turns
from kit.storage import lock_waits
from kit.storage.lock_waits import short_lock_timeout, until_unlocked
from kit.storage.online_indexes import AddIndexOnline, RemoveIndexOnline, ReplaceIndexOnline, is_valid, name_of_part
from kit.storage.postgresql.poolers import connection_string
from tests.faults.harness import eventually
from tests.lock_waits import in_thread

ON_POSTGRESQL = connection.vendor == "postgresql"
only_postgresql = pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has one writer, and no partitions")
pytestmark = pytest.mark.django_db(transaction=True)

INDEX = models.Index(fields=["number", "name"], name="parted_by_number")
TABLE, PARTS = "kit_parted", ["kit_parted_1", "kit_parted_2", "kit_parted_rest"]


def state() -> ProjectState:
    made = ProjectState()
    fields = [("id", models.BigIntegerField(primary_key=True)), ("number", models.IntegerField())]
    made.add_model(ModelState("kit", "Parted", [*fields, ("name", models.TextField())]))
    return made


def execute(statement: str, *parameters: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)


@pytest.fixture
def table() -> Iterator[str]:
    """A table with a thousand rows, in three partitions on PostgreSQL."""
    if ON_POSTGRESQL:
        execute("CREATE TABLE kit_parted (id bigint PRIMARY KEY, number int, name text) PARTITION BY RANGE (id)")
        execute("CREATE TABLE kit_parted_1 PARTITION OF kit_parted FOR VALUES FROM (0) TO (100)")
        execute("CREATE TABLE kit_parted_2 PARTITION OF kit_parted FOR VALUES FROM (100) TO (200)")
        execute("CREATE TABLE kit_parted_rest PARTITION OF kit_parted DEFAULT")
        execute("INSERT INTO kit_parted SELECT n, n % 7, 'name' || n FROM generate_series(0, 999) n")
    else:
        execute("CREATE TABLE kit_parted (id bigint PRIMARY KEY, number int, name text)")
    yield TABLE
    execute("DROP TABLE kit_parted")


def run(operation: migrations.operations.base.Operation, *, backwards: bool = False) -> None:
    """Run an operation, or undo it, as `migrate` does in a migration with `atomic = False`."""
    before, after = state(), state()
    if not isinstance(operation, AddIndexOnline):
        AddIndexOnline("parted", INDEX).state_forwards("kit", before)
        AddIndexOnline("parted", INDEX).state_forwards("kit", after)
    operation.state_forwards("kit", after)
    with short_lock_timeout(connection), connection.schema_editor(atomic=False) as editor:
        if backwards:
            operation.database_backwards("kit", editor, after, before)
        else:
            operation.database_forwards("kit", editor, before, after)


def indexes() -> dict[str, list[str]]:
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, TABLE)
    return {name: one["columns"] for name, one in constraints.items() if one["index"] and not one["primary_key"]}


@pytest.fixture
def another() -> Iterator[psycopg.Connection]:
    """Another session, in a transaction."""
    with psycopg.connect(connection_string()) as session:
        yield session


def test_an_index_is_added_and_removed_both_ways(table: str):
    add, remove = AddIndexOnline("parted", INDEX), RemoveIndexOnline("parted", INDEX.name)
    run(add)
    assert indexes() == {INDEX.name: ["number", "name"]}
    run(remove)
    assert indexes() == {}
    run(remove, backwards=True)
    assert indexes() == {INDEX.name: ["number", "name"]}
    run(add, backwards=True)
    assert indexes() == {}


def test_an_index_is_replaced_and_put_back(table: str):
    run(AddIndexOnline("parted", INDEX))
    other = ReplaceIndexOnline("parted", models.Index(fields=["name"], name=INDEX.name))
    for _ in range(2):
        run(other)
        assert indexes() == {INDEX.name: ["name"]}
        run(other, backwards=True)
        assert indexes() == {INDEX.name: ["number", "name"]}
    if ON_POSTGRESQL:
        assert all(is_valid(connection, name_of_part(INDEX.name, part)) for part in PARTS)


@only_postgresql
def test_every_partition_gets_its_part_and_the_index_becomes_valid(table: str):
    run(AddIndexOnline("parted", INDEX))
    assert is_valid(connection, INDEX.name)
    assert all(is_valid(connection, name_of_part(INDEX.name, part)) for part in PARTS)
    execute("CREATE TABLE kit_parted_new PARTITION OF kit_parted FOR VALUES FROM (2000) TO (3000)")
    assert is_valid(connection, "kit_parted_new_number_name_idx")


@only_postgresql
def test_rows_are_written_while_the_index_is_built(table: str, another: psycopg.Connection):
    """An open transaction makes the build wait, as a long export does. Nobody waits for the build."""
    another.execute("UPDATE kit_parted_1 SET number = 1 WHERE id = 5")
    build = threading.Thread(target=in_thread, args=[lambda: run(AddIndexOnline("parted", INDEX))])
    build.start()
    try:
        with psycopg.connect(connection_string(), autocommit=True) as writer:
            writer.execute("SET lock_timeout = 1000")
            assert eventually(lambda: is_valid(connection, name_of_part(INDEX.name, PARTS[0])) is False)
            writer.execute("UPDATE kit_parted SET number = 3 WHERE id = 6")
            writer.execute("INSERT INTO kit_parted VALUES (5000, 1, 'new')")
            assert build.is_alive()
    finally:
        another.rollback()
        build.join()
    assert is_valid(connection, INDEX.name)


@only_postgresql
def test_an_interrupted_build_is_finished_by_the_next_run(table: str):
    execute(f"CREATE INDEX {INDEX.name} ON ONLY kit_parted (number, name)")
    broken = name_of_part(INDEX.name, PARTS[1])
    execute(f"CREATE INDEX {broken} ON kit_parted_2 (number, name)")
    execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)", broken)
    run(AddIndexOnline("parted", INDEX))
    assert is_valid(connection, INDEX.name)
    assert is_valid(connection, broken)


@only_postgresql
def test_long_names_of_parts_are_cut_and_stay_different():
    names = {name_of_part("i" * 30, f"{'t' * 40}_{number}") for number in range(5)}
    assert len(names) == 5
    assert {len(name) for name in names} == {63}


@only_postgresql
def test_a_statement_that_waits_for_a_table_lets_others_pass(table, another, caplog):
    another.execute("SELECT * FROM kit_parted")

    def alter() -> None:
        with short_lock_timeout(connection):
            execute("ALTER TABLE kit_parted ADD COLUMN more int")

    change = threading.Thread(target=in_thread, args=[alter])
    change.start()
    with psycopg.connect(connection_string(), autocommit=True) as reader:
        reader.execute("SET statement_timeout = '30s'")
        while len(caplog.records) < 3:  # the change has given way as often, and `another` holds its lock
            reader.execute("SELECT * FROM kit_parted WHERE id = 1")
    another.rollback()
    change.join()
    execute("SELECT more FROM kit_parted")


@only_postgresql
def test_a_migration_in_a_transaction_is_run_again_as_a_whole(table, another, monkeypatch, caplog):
    another.execute("SELECT * FROM kit_parted")
    runs = []

    def handle(*args: object, **options: object) -> None:
        runs.append(1)
        with transaction.atomic():
            execute("INSERT INTO kit_parted VALUES (5000, 1, 'new')")
            try:
                execute("ALTER TABLE kit_parted ADD COLUMN more int")
            finally:
                another.rollback()

    monkeypatch.setattr(migrate.Command, "handle", handle)
    call_command("migrate")
    assert len(runs) == 2
    assert "A table is in use" in caplog.text
    execute("SELECT more FROM kit_parted WHERE id = 5000")


@only_postgresql
def test_it_gives_up_in_the_end(table, another, monkeypatch, caplog):
    monkeypatch.setattr(lock_waits, "PAUSES", [0.01, 0.01])
    another.execute("LOCK TABLE kit_parted")
    with short_lock_timeout(connection), pytest.raises(OperationalError, match="lock timeout"):
        execute("ALTER TABLE kit_parted ADD COLUMN more int")
    assert len(caplog.records) == 2
    another.rollback()


def test_other_errors_are_not_repeated():
    calls = []

    def act() -> None:
        calls.append(1)
        raise OperationalError("the connection is gone")

    with pytest.raises(OperationalError):
        until_unlocked(act)
    assert len(calls) == 1


@only_postgresql
def test_the_command_leaves_no_limit_behind():
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


def test_processes_that_migrate_at_once_take_turns(monkeypatch, capsys):
    monkeypatch.setattr(turns, "PAUSE", 0.01)
    done = threading.Event()

    def migrate_too() -> None:
        call_command("migrate", verbosity=0)
        done.set()

    other = threading.Thread(target=in_thread, args=[migrate_too])
    with turns.turn_to_change():
        other.start()
        while "Another process is migrating this database. Waiting for it." not in capsys.readouterr().err:
            assert not done.wait(0.05)
    other.join(60)
    assert done.is_set()


@only_postgresql
def test_an_index_that_is_built_concurrently_does_not_wait_for_the_turn(table):
    with turns.turn_to_change():
        run(AddIndexOnline("parted", INDEX))
