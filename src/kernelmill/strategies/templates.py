"""Instructions of strategies, from template files."""

import functools
from pathlib import Path

import jinja2

_FOLDER = Path(__file__).parent / "prompts"


def render_instruction(name: str, **values: object) -> str:
    return _environment().get_template(f"{name}.j2").render(values).strip()


@functools.cache
def _environment() -> jinja2.Environment:
    """An undefined name in a template is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
