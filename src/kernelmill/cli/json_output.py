"""JSON for scripts: every read verb prints it with `--json`, and `schema` describes it."""

import json
import sys
from typing import Annotated, Any

import msgspec
import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(value: object) -> None:
    """Where the output cannot show a character, its escape stands for it: nothing is lost."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    sys.stdout.write(f"{text}\n")


def schema_of(record: Any) -> dict[str, Any]:
    return msgspec.json.schema(record)
