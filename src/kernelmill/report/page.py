"""The report as one page that needs nothing else."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernelmill import __version__
from kernelmill.errors import UsageError
from kernelmill.report import plots, spending
from kernelmill.report.summary import Summary
from kernelmill.report.tables import baseline_of, compile_cell, conclusion

_TEMPLATE = "report.html.j2"


def render(summary: Summary) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(_TEMPLATE)
    return page.render(
        summary=summary,
        settings=summary.campaign.settings,
        conclusion=conclusion(summary).splitlines(),
        compile_cell=compile_cell,
        baseline=baseline_of(summary.latencies),
        plots=plots,
        spending=spending,
        version=__version__,
    )


def write_page(summary: Summary, path: Path) -> None:
    try:
        path.write_text(render(summary))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
