"""Migrations that add, replace and remove indexes of large tables while the service reads and writes them.

    class Migration(migrations.Migration):
        atomic = False
        operations = [AddIndexOnline("accessevent", models.Index(fields=["account", "created"], name="events_newest"))]

PostgreSQL builds an index of a partitioned table only for all partitions in one transaction, which blocks writers. So
the index is created for the table without its partitions, then built concurrently for each partition and attached. It
becomes valid with the last one. Partitions that are created meanwhile bring their own.

An interrupted migration can be run again: it drops what an interruption has left half-built.
"""

from hashlib import sha256

from django.contrib.postgres.operations import (
    AddIndexConcurrently,
    NotInTransactionMixin,
    RemoveIndexConcurrently,
)
from django.db import NotSupportedError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddIndex, RemoveIndex
from django.db.migrations.operations.base import OperationCategory
from django.db.migrations.operations.models import IndexOperation
from django.db.migrations.state import ProjectState
from django.db.models import Index, Model

from kit.storage.lock_waits import no_lock_timeout, until_unlocked

LONGEST_NAME = 63  # of PostgreSQL


class AddIndexOnline(AddIndexConcurrently):
    """Add an index without blocking writers on PostgreSQL; on SQLite, add it normally."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            self._ensure_not_in_transaction(schema_editor)
            build(schema_editor, to_state.apps.get_model(app_label, self.model_name), self.index)
        else:
            AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            self._ensure_not_in_transaction(schema_editor)
            remove(schema_editor, from_state.apps.get_model(app_label, self.model_name), self.index)
        else:
            AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class RemoveIndexOnline(RemoveIndexConcurrently):
    """Remove an index without blocking writers on PostgreSQL; on SQLite, remove it normally."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            self._ensure_not_in_transaction(schema_editor)
            index = from_state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
            remove(schema_editor, from_state.apps.get_model(app_label, self.model_name), index)
        else:
            RemoveIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            self._ensure_not_in_transaction(schema_editor)
            index = to_state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
            build(schema_editor, to_state.apps.get_model(app_label, self.model_name), index)
        else:
            RemoveIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class ReplaceIndexOnline(NotInTransactionMixin, IndexOperation):
    """Give an index other columns. The old one serves queries until the new one is complete."""

    atomic = False
    category = OperationCategory.ALTERATION

    def __init__(self, model_name: str, index: Index) -> None:
        self.model_name, self.index = model_name, index

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.remove_index(app_label, self.model_name_lower, self.index.name)
        state.add_index(app_label, self.model_name_lower, self.index)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        before, after = (
            state.models[app_label, self.model_name_lower].get_index_by_name(self.index.name)
            for state in (from_state, to_state)
        )
        if schema_editor.connection.vendor == "postgresql":
            self._ensure_not_in_transaction(schema_editor)
            replace(schema_editor, model, after)
        else:
            schema_editor.remove_index(model, before)
            schema_editor.add_index(model, after)

    database_backwards = database_forwards

    def describe(self) -> str:
        return f"Replace index {self.index.name} of {self.model_name} online"

    def deconstruct(self) -> tuple[str, list[object], dict[str, object]]:
        return type(self).__qualname__, [], {"model_name": self.model_name, "index": self.index}


def build(editor: BaseDatabaseSchemaEditor, model: type[Model], index: Index) -> None:
    """Build an index concurrently, partition by partition if the table has any. Does nothing if it is there."""
    connection, table = editor.connection, model._meta.db_table
    if is_valid(connection, index.name):
        return
    if not is_partitioned(connection, table):
        build_concurrently(editor, index.name, str(index.create_sql(model, editor, concurrently=True)))
        return
    if is_valid(connection, index.name) is None:
        statement = str(index.create_sql(model, editor))
        editor.execute(replace_once(statement, " ON ", " ON ONLY "))
    while lacking := partitions_without(connection, table, index.name):
        for partition in lacking:
            part = name_of_part(index.name, partition)
            statement = str(index.create_sql(model, editor, concurrently=True))
            statement = replace_once(statement, editor.quote_name(index.name), editor.quote_name(part))
            statement = replace_once(statement, editor.quote_name(table), editor.quote_name(partition))
            build_concurrently(editor, part, statement)
            quoted = editor.quote_name(index.name), editor.quote_name(part)
            editor.execute("ALTER INDEX {} ATTACH PARTITION {}".format(*quoted))


def remove(editor: BaseDatabaseSchemaEditor, model: type[Model], index: Index) -> None:
    """Drop an index. That of a partitioned table is dropped with those of its partitions, in a moment."""
    name = editor.quote_name(index.name)
    if is_partitioned(editor.connection, model._meta.db_table):
        editor.execute(f"DROP INDEX IF EXISTS {name}")
        return
    with no_lock_timeout(editor.connection):
        editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def replace(editor: BaseDatabaseSchemaEditor, model: type[Model], index: Index) -> None:
    """Build the index under another name, and give it the name of the former one, which is dropped."""
    new = index.clone()
    new.name = f"{index.name}_new"
    build(editor, model, new)
    renamed = [
        (name_of_part(new.name, partition), name_of_part(index.name, partition))
        for partition in list_partitions(editor.connection, model._meta.db_table)
    ]

    def swap() -> None:
        with transaction.atomic(using=editor.connection.alias):
            editor.execute(f"DROP INDEX IF EXISTS {editor.quote_name(index.name)}")
            for old_name, name in [*renamed, (new.name, index.name)]:
                quoted = editor.quote_name(old_name), editor.quote_name(name)
                editor.execute("ALTER INDEX IF EXISTS {} RENAME TO {}".format(*quoted))

    until_unlocked(swap)


def build_concurrently(editor: BaseDatabaseSchemaEditor, name: str, statement: str) -> None:
    """Run CREATE INDEX CONCURRENTLY, unless the index is there. It waits for the transactions that use the table."""
    with no_lock_timeout(editor.connection):
        if is_valid(editor.connection, name) is False:
            editor.execute(f"DROP INDEX CONCURRENTLY {editor.quote_name(name)}")
        if not is_valid(editor.connection, name):
            editor.execute(statement)


def is_valid(connection: BaseDatabaseWrapper, index: str) -> bool | None:
    """Return whether the index is complete and in use; None if it does not exist."""
    row = read(connection, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(quote_ident(%s))", index)
    return bool(row[0][0]) if row else None


def is_partitioned(connection: BaseDatabaseWrapper, table: str) -> bool:
    return read(connection, "SELECT relkind FROM pg_class WHERE oid = to_regclass(quote_ident(%s))", table) == [("p",)]


def list_partitions(connection: BaseDatabaseWrapper, table: str) -> list[str]:
    rows = read(
        connection,
        "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid"
        " WHERE inhparent = to_regclass(quote_ident(%s))",
        table,
    )
    return [str(name) for (name,) in rows]


def partitions_without(connection: BaseDatabaseWrapper, table: str, index: str) -> list[str]:
    """Return the partitions that have no part of a partitioned index. Partitions of partitions are not supported."""
    rows = read(
        connection,
        """SELECT partition.relname, partition.relkind FROM pg_inherits link
             JOIN pg_class partition ON partition.oid = link.inhrelid
           WHERE link.inhparent = to_regclass(quote_ident(%s)) AND NOT EXISTS (
             SELECT 1 FROM pg_inherits attached JOIN pg_index part ON part.indexrelid = attached.inhrelid
             WHERE attached.inhparent = to_regclass(quote_ident(%s)) AND part.indrelid = partition.oid)
           ORDER BY partition.relname""",
        table,
        index,
    )
    if any(kind == "p" for _, kind in rows):
        raise NotSupportedError(f"A partition of {table} has partitions itself.")
    return [str(name) for name, _ in rows]


def name_of_part(index: str, partition: str) -> str:
    name = f"{partition}_{index}"
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 9]}_{sha256(name.encode()).hexdigest()[:8]}"


def replace_once(text: str, old: str, new: str) -> str:
    if old not in text:
        raise ValueError(f"{old} is not in {text}")
    return text.replace(old, new, 1)


def read(connection: BaseDatabaseWrapper, query: str, *parameters: str) -> list[tuple[str | bool, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())
