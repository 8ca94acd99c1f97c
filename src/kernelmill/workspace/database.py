"""The SQLite database of a workspace: opening, migration, transactions."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kernelmill.records.errors import WorkspaceError
from kernelmill.records.text import clean_line
from kernelmill.storage.packing import items_in, with_keys
from kernelmill.workspace.owners import locked
from kernelmill.workspace.sql import migrations

FILE = "kernelmill.db"
_LOCK = "migrating.lock"
_APPLICATION = 0x4B4D494C
_BUSY_SECONDS = 60.0
_READ_ONLY_HINT = ": it can only be read; name another with --workspace, or copy the folder"
_UNREADABLE = "Could not decode"
"""How SQLite's error begins where a text in the database is none."""

Transaction = sqlite3.Connection
"""A connection inside of a transaction that the caller began and will end."""


def open_database(folder: Path, create: bool) -> sqlite3.Connection:
    """Open the database and migrate it. Raises WorkspaceError."""
    path = folder / FILE
    if not _is_file(path):
        _check_folder(folder, create)
    elif not (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        return _open_to_read(path)
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        if _version(connection, path) < len(migrations()):
            with locked(folder / _LOCK):
                connection.execute("PRAGMA journal_mode = WAL")
                _migrate(connection, path)
    except UnicodeDecodeError as error:  # a message of SQLite that quotes what it cannot read
        raise damaged("its tables cannot be read") from error
    except (sqlite3.Error, OSError) as error:
        raise WorkspaceError(f"cannot open {path}: {error}") from error
    return connection


def copy_database(folder: Path, to: Path) -> None:
    """Copy the database of a workspace into another folder. Raises WorkspaceError."""
    with (
        closing(open_database(folder, create=False)) as source,
        clear_errors(),
        closing(sqlite3.connect(to / FILE)) as copy,
    ):
        source.backup(copy)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise WorkspaceError(f"cannot open {path}: {error.strerror}") from error


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open the database of somebody else, or on a read-only disk; writing to it fails.

    Beside a write-ahead log SQLite would create an index file. Where it may not, the database is
    taken to be unchanging, which is true where nothing is left in the log.
    """
    wal = path.with_name(f"{path.name}-wal")
    logged = wal.is_file() and wal.stat().st_size > 0
    ways = ("mode=ro",) if logged else ("mode=ro", "mode=ro&immutable=1")
    for way in ways:
        try:
            address = f"{path.absolute().as_uri()}?{way}"
            connection = sqlite3.connect(
                address, timeout=_BUSY_SECONDS, isolation_level=None, uri=True
            )
            connection.row_factory = sqlite3.Row
            version = _version(connection, path)
        except UnicodeDecodeError as error:
            raise damaged("its tables cannot be read") from error
        except sqlite3.Error as error:
            problem = str(error)
            continue
        if version < len(migrations()):
            raise WorkspaceError(
                f"{path} was written by an older Kernelmill and cannot be changed here: "
                "copy the folder and open the copy"
            )
        return connection
    hint = ": it was not closed in order, copy the folder and open the copy" if logged else ""
    raise WorkspaceError(f"cannot open {path}, which is read-only: {problem}{hint}")


def database_in_memory() -> sqlite3.Connection:
    """An empty database in memory."""
    path = Path(":memory:")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    _migrate(connection, path)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[Transaction]:
    """One transaction. It takes the write lock at once, so that it cannot lack it halfway."""
    with clear_errors():
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            # SQLite itself rolls back on some errors, e.g. a full disk.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what a full, read-only or locked disk or a damaged file raises into a WorkspaceError."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if str(error).startswith(_UNREADABLE):
            raise damaged(str(error)) from error
        hint = _READ_ONLY_HINT if "readonly" in str(error) else ""
        raise WorkspaceError(f"the workspace cannot be used: {error}{hint}") from error
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:
            raise
        raise damaged(str(error)) from error


def find_damage(connection: sqlite3.Connection) -> str:
    """What SQLite finds wrong in the file; empty where it is sound."""
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        return str(error)
    return "" if found == "ok" else str(found)


def damaged(problem: str) -> WorkspaceError:
    return WorkspaceError(
        f"the database of the workspace is damaged: {clean_line(problem)}. Restore a copy, or save "
        f"what is left: sqlite3 {FILE} .recover | sqlite3 recovered.db"
    )


def _check_folder(folder: Path, create: bool) -> None:
    if not create:
        raise WorkspaceError(f"{folder} is not a workspace: `kernelmill run` makes one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in folder.iterdir()} - {_LOCK}
    except OSError as error:
        raise WorkspaceError(f"cannot make a workspace at {folder}: {error.strerror}") from error
    # The database may be there by now: another process may be making the same workspace.
    if not all(name.startswith(FILE) for name in names):
        raise WorkspaceError(f"{folder} is not a workspace and not empty: name another folder")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application != _APPLICATION and (application or version):
        raise WorkspaceError(f"{path} is a database of another program")
    if version > len(migrations()):
        raise WorkspaceError(
            f"{path} was written by a newer Kernelmill (its schema is {version}, this one's is "
            f"{len(migrations())}): upgrade to open it"
        )
    return version


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.create_function("with_keys", -1, with_keys, deterministic=True)
    connection.create_function("items_in", 1, items_in, deterministic=True)
    with transaction(connection):
        done = _version(connection, path)
        for script in migrations()[done:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(migrations())}")


def _statements(script: str) -> Iterator[str]:
    """The statements one by one, because `executescript` would commit before it begins."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
