"""`kernelmill export`: the champions of a campaign as a package that others can install."""

from pathlib import Path
from typing import Annotated

import typer

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.options import WorkspaceOption
from kernelmill.cli.terminal import folding_table, wide_console
from kernelmill.deploy.export import DEFAULT_LICENCE, PackageLayout, export_campaign
from kernelmill.workspace import Workspace


def export_command(
    to: Annotated[Path, typer.Option(help="A new or empty folder.")],
    campaign: Annotated[
        int | None, typer.Argument(min=1, help="Number of the campaign. Default: the latest.")
    ] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    name: Annotated[
        str, typer.Option(help="Name of the Python package. Default: that of the folder.")
    ] = "",
    layout: Annotated[
        PackageLayout,
        typer.Option(
            help="An installable package, a repository for Hugging Face's kernels library, or a "
            "patch for a foreign repository."
        ),
    ] = PackageLayout.PACKAGE,
    licence: Annotated[
        str, typer.Option("--license", help="SPDX identifier that the package declares.")
    ] = DEFAULT_LICENCE,
    everything: Annotated[
        bool, typer.Option("--all", help="Also export kernels that are not shown to be faster.")
    ] = False,
) -> None:
    """Export the champions of a campaign: operators, modules, tests and evidence.

    Each kernel becomes a torch operator and a drop-in module. What it was not proven for is
    answered by its reference.
    """
    with Workspace(workspace) as opened:
        exported = export_campaign(
            opened, campaign, to, name=name, layout=layout, licence=licence,
            only_faster=not everything,
        )  # fmt: skip
    console, manifest = wide_console(), exported.manifest
    table = folding_table("operator", "module", "over baseline")
    for kernel in manifest.kernels:
        table.add_row(kernel.operator, kernel.module, str(kernel.over_baseline or ""))
    console.print(table)
    for left in manifest.left_out:
        console.print(f"left out {left.name}: {left.reason}", markup=False, soft_wrap=True)
    console.print(f"written to {exported.folder}", markup=False, soft_wrap=True, highlight=False)
