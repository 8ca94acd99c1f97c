"""JSON for scripts: every read verb prints it with `--json`, and `schema` describes it."""

import sys
from typing import Annotated, Any

import msgspec
import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(value: object) -> None:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.write(f"{text}\n")


def schema_of(record: Any) -> dict[str, Any]:
    return msgspec.json.schema(record)
