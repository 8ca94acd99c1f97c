"""The report as one HTML page without external resources."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernelmill import __version__
from kernelmill.report import plots, spending
from kernelmill.report.comparing import CampaignComparison
from kernelmill.report.exporting import reason_of, write_text
from kernelmill.report.summary import CampaignSummary
from kernelmill.report.tables import baseline_of, conclusion, minute, ratio_cell

_TEMPLATE = "report.html.j2"


def render(summary: CampaignSummary, comparison: CampaignComparison | None = None) -> str:
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
        ratio_cell=ratio_cell,
        baseline=baseline_of(summary.latencies),
        modelled=any(latency.counted for latency in summary.latencies),
        plots=plots,
        comparison=comparison,
        reason_of=reason_of,
        minute=minute,
        spending=spending,
        version=__version__,
    )


def write_page(
    summary: CampaignSummary, path: Path, comparison: CampaignComparison | None = None
) -> None:
    """Raises UsageError where the file cannot be written."""
    write_text(render(summary, comparison), path)
