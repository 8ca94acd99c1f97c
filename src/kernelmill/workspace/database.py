"""The file behind a workspace: opening, migrating, transactions."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelmill.errors import WorkspaceError
from kernelmill.workspace.owners import locked
from kernelmill.workspace.sql import migrations

FILE = "kernelmill.db"
_LOCK = "migrating.lock"
_APPLICATION = 0x4B4D494C
_BUSY_SECONDS = 60.0

Transaction = sqlite3.Connection
"""A connection inside of a transaction that somebody else began and will end."""


def open_database(folder: Path, create: bool) -> sqlite3.Connection:
    """Open and bring up to date. Raises WorkspaceError where there is none to open."""
    path = folder / FILE
    if not path.is_file():
        _demand_room(folder, create)
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        if _version(connection, path) < len(migrations()):
            with locked(folder / _LOCK):
                connection.execute("PRAGMA journal_mode = WAL")
                _migrate(connection, path)
    except (sqlite3.Error, OSError) as error:
        raise WorkspaceError(f"cannot open {path}: {error}") from error
    return connection


def database_in_memory() -> sqlite3.Connection:
    """An empty one that nobody else sees."""
    path = Path(":memory:")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    _migrate(connection, path)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[Transaction]:
    """All or nothing; begins as a writer, so that it never has to give way halfway."""
    with clear_errors():
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            # A full disk may have ended it already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def clear_errors() -> Iterator[None]:
    """A disk that is full, read-only or held for too long is no bug: WorkspaceError."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise WorkspaceError(f"the workspace cannot be used: {error}") from error


def _demand_room(folder: Path, create: bool) -> None:
    if not create:
        raise WorkspaceError(f"{folder} is not a workspace: `kernelmill run` makes one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strangers = {entry.name for entry in folder.iterdir()} - {_LOCK}
    except OSError as error:
        raise WorkspaceError(f"cannot make a workspace at {folder}: {error.strerror}") from error
    # Another process may be making this very workspace.
    if not all(name.startswith(FILE) for name in strangers):
        raise WorkspaceError(f"{folder} is not a workspace, and not empty: name another folder")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application != _APPLICATION and (application or version):
        raise WorkspaceError(f"{path} is a database of another program")
    if version > len(migrations()):
        raise WorkspaceError(
            f"{path} was written by a newer Kernelmill (its format is {version}, this one knows "
            f"{len(migrations())}): upgrade to open it"
        )
    return version


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection):
        done = _version(connection, path)
        for script in migrations()[done:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(migrations())}")


def _statements(script: str) -> Iterator[str]:
    """One by one: `executescript` would commit before it begins."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
