"""`kernelmill dashboard`: a workspace in a browser."""

import webbrowser
from typing import Annotated

import typer

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.options import HostOption, WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.records.errors import UsageError


def dashboard_command(
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any.")] = 8765,
    browser: Annotated[
        bool, typer.Option("--open", help="Open it in the default browser.")
    ] = False,
) -> None:
    """Show campaigns, lineage and memory in a browser, live while campaigns run.

    It reads the workspace and changes nothing. Ctrl-C ends it.
    """
    try:
        from kernelmill.serving.running import bind
        from kernelmill.web.app import make_app
    except ImportError as error:
        raise UsageError(
            f"the dashboard needs {error.name}: pip install -e '.[web]' in the checkout"
        ) from error
    bound = bind(make_app(workspace), host, port)
    wide_console().print(bound.address.url, highlight=False, markup=False, soft_wrap=True)
    if browser:
        webbrowser.open(bound.address.url)
    bound.run()
