"""Plots as static SVG, without scripts."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from kernelmill.records.attempt import Attempt
from kernelmill.records.calibration import Prediction
from kernelmill.report.curves import THRESHOLDS, Curve, CurvePoint
from kernelmill.report.summary import CampaignSummary, Improvement

_WIDTH, _HEIGHT = 640, 260
_SMALL_WIDTH, _SMALL_HEIGHT = 200, 90
_MARGIN = 36
_BARS = 12
_MOST_CURVES = 4
_MOST_TICKS = 6


class _Frame(NamedTuple):
    """Maps values to coordinates in a drawing."""

    width: int
    height: int
    margin: int
    x_end: float
    y_start: float
    y_end: float

    def x(self, value: float) -> float:
        return self.margin + value / max(self.x_end, 1e-9) * (self.width - 2 * self.margin)

    def y(self, value: float) -> float:
        share = (value - self.y_start) / max(self.y_end - self.y_start, 1e-9)
        return self.height - self.margin - share * (self.height - 2 * self.margin)


def speedup_plot(summary: CampaignSummary) -> Markup:
    """Histogram of the champions' speedups over their baseline, on a logarithmic scale."""
    ratios = [t.latency.over_baseline.ratio for t in summary.tasks if t.latency is not None]
    if not ratios:
        return Markup("<p>No task is solved yet.</p>")
    logs = [math.log2(ratio) for ratio in ratios]
    low, high = math.floor(min(*logs, -1)), math.ceil(max(*logs, 1))
    counts = [0] * _BARS
    for value in logs:
        counts[min(_BARS - 1, int((value - low) / (high - low) * _BARS))] += 1
    frame = _Frame(_WIDTH, _HEIGHT, _MARGIN, _BARS, 0, max(counts))
    parts = [_axes(frame)]
    for index, count in enumerate(counts):
        left, top = frame.x(index), frame.y(count)
        parts.append(_bar(left + 1, top, frame.x(index + 1) - left - 2, frame.y(0) - top))
    for power in range(low, high + 1):
        x = frame.x((power - low) / (high - low) * _BARS)
        parts.append(_text(x, _HEIGHT - 18, f"{2.0**power:g}x", "middle"))
    most = max(counts)
    parts.append(_text(4, frame.y(frame.y_end) - 6, f"{most} task{'s' if most > 1 else ''}"))
    return _svg(_WIDTH, _HEIGHT, parts)


def trajectory_plot(trajectory: Sequence[Improvement], attempts: int) -> Markup:
    """The best ratio of one task over its attempts; the dashed line is the baseline."""
    best = max((step.ratio for step in trajectory), default=1.0)
    frame = _Frame(_SMALL_WIDTH, _SMALL_HEIGHT, 8, max(1, attempts), 0, max(1.0, best) * 1.3)
    points: list[tuple[float, float]] = []
    for step in trajectory:
        if points:
            points.append((step.number, points[-1][1]))
        points.append((step.number, step.ratio))
    if points:
        points.append((attempts, points[-1][1]))
    baseline = _line(frame, [(0, 1), (frame.x_end, 1)], "baseline")
    parts = [baseline, _line(frame, points), *(_dot(frame, step) for step in trajectory)]
    if trajectory:
        parts.append(_text(frame.x(attempts), frame.y(best) - 4, f"{best:.2f}x", "end"))
    return _svg(_SMALL_WIDTH, _SMALL_HEIGHT, parts)


def curves_plot(
    curves: Sequence[Curve], x_name: str, y_name: str, unit: str = "x", log: bool = False
) -> Markup:
    """Curves in one frame, the first one in the strongest colour, with bands of their spread.

    Along the x axis are attempts, or the thresholds of fast_p on a logarithmic scale. Speedups
    (`x`) are drawn around 1, shares (`%`) from 0 to 1, anything else from 0.
    """
    points = [point for curve in curves for point in curve.points]
    if len(points) < 2:
        return Markup('<p class="empty">Nothing to draw yet.</p>')
    low, high = _range(points, unit)
    end = max(point.x for point in points)
    frame = _Frame(_WIDTH, _HEIGHT, _MARGIN, _scaled(end, log), low, high)
    parts = [_axes(frame)]
    for value in _ticks(low, high):
        text = f"{value:.0%}" if unit == "%" else f"{value:g}{unit}"
        parts.append(_text(_MARGIN - 4, frame.y(value) + 4, text, "end"))
    marks = list(THRESHOLDS) if log else [tick for tick in _ticks(0, end) if tick.is_integer()]
    for value in marks:
        parts.append(_text(frame.x(_scaled(value, log)), _HEIGHT - 20, f"{value:g}", "middle"))
    for number, curve in enumerate(curves):
        style = f"curve{min(number, _MOST_CURVES - 1)}"
        placed = [(_scaled(point.x, log), point) for point in curve.points]
        if any(point.spread for point in curve.points):
            upper = [(x, min(high, point.y + point.spread)) for x, point in placed]
            lower = [(x, max(low, point.y - point.spread)) for x, point in placed]
            parts.append(_band(frame, [*upper, *lower[::-1]], style))
        parts.append(_line(frame, [(x, point.y) for x, point in placed], f"line {style}"))
        if len(curves) > 1:
            parts.append(_legend(number, curve.name, style))
    parts.append(_text(_WIDTH - _MARGIN, _HEIGHT - 5, x_name, "end"))
    parts.append(_text(4, 14, y_name))
    return _svg(_WIDTH, _HEIGHT, parts, f"{y_name} over {x_name}")


def calibration_plot(predictions: Sequence[Prediction]) -> Markup:
    """Measured over expected speed, both logarithmic; on the dashed line a prediction is right."""
    points = [
        (math.log2(one.expected), math.log2(one.measured))
        for one in predictions
        if one.expected and one.measured
    ]
    if not points:
        return Markup('<p class="empty">No kernel with a predicted factor passed yet.</p>')
    low = math.floor(min(0.0, *(min(point) for point in points)))
    high = math.ceil(max(1.0, *(max(point) for point in points)))
    frame = _Frame(_HEIGHT, _HEIGHT, _MARGIN, high - low, low, high)
    parts = [_axes(frame), _line(frame, [(0, low), (high - low, high)], "baseline")]
    step = max(1, -(-(high - low) // _MOST_TICKS))
    for power in range(low, high + 1, step):
        text = f"{2.0**power:g}x"
        parts.append(_text(frame.x(power - low), _HEIGHT - 20, text, "middle"))
        parts.append(_text(_MARGIN - 4, frame.y(power) + 4, text, "end"))
    dot = Markup('<circle class="passed" cx="{:.1f}" cy="{:.1f}" r="3"/>')
    parts += [dot.format(frame.x(x - low), frame.y(y)) for x, y in points]
    parts += [_text(_HEIGHT - _MARGIN, _HEIGHT - 5, "expected", "end"), _text(4, 14, "measured")]
    return _svg(_HEIGHT, _HEIGHT, parts, "measured over expected speed")


def value_plot(curve: Curve) -> Markup:
    """A learned value, from -1 to 1, over the times its item was used."""
    end = max(1.0, curve.points[-1].x)
    frame = _Frame(_WIDTH, _HEIGHT // 2, _MARGIN, end, -1.0, 1.0)
    parts = [_axes(frame), _line(frame, [(0, 0), (end, 0)], "baseline")]
    parts += [_text(_MARGIN - 4, frame.y(v) + 4, f"{v:+.0f}", "end") for v in (-1.0, 0.0, 1.0)]
    clipped = [(point.x, max(-1.0, min(1.0, point.y))) for point in curve.points]
    parts.append(_line(frame, clipped, "line curve0"))
    return _svg(_WIDTH, _HEIGHT // 2, parts, f"value, stage {curve.name}")


def _range(points: Sequence[CurvePoint], unit: str) -> tuple[float, float]:
    if unit == "%":
        return 0.0, 1.0
    high = max(point.y + point.spread for point in points)
    if unit == "x":
        return min(1.0, *(point.y - point.spread for point in points)), max(1.1, high)
    return 0.0, 1.05 * high


def _scaled(value: float, log: bool) -> float:
    return math.log2(1 + value) if log else value


def _ticks(low: float, high: float) -> list[float]:
    """A few round numbers between two values."""
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9)))
    for factor in (0.2, 0.5, 1.0, 2.0):
        if (high - low) / (factor * step) <= _MOST_TICKS:
            step *= factor
            break
    first = math.ceil(low / step - 1e-9)
    return [round(index * step, 10) for index in range(first, int(high / step + 1e-9) + 1)]


def _band(frame: _Frame, points: Sequence[tuple[float, float]], style: str) -> Markup:
    coordinates = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in points)
    return Markup('<polygon class="band {}" points="{}"/>').format(style, coordinates)


def _legend(number: int, name: str, style: str) -> Markup:
    y = _MARGIN + 8 + 16 * number
    line = Markup('<line class="line {}" x1="{}" x2="{}" y1="{y}" y2="{y}"/>')
    place = _MARGIN + 10
    return line.format(style, place, place + 20, y=y - 4) + _text(place + 26, y, name)


def lineage_plot(lineage: Sequence[Attempt]) -> Markup:
    """The lineage of a champion, from its first ancestor."""
    step, height, edge = 110, 64, 40
    parts = []
    for index, attempt in enumerate(lineage):
        x = edge + index * step
        if index:
            parts.append(
                Markup('<line class="axis" x1="{}" y1="24" x2="{}" y2="24"/>').format(
                    x - step + 10, x - 10
                )
            )
        state = "passed" if attempt.ratio is not None else "refused"
        parts.append(Markup('<circle class="{}" cx="{}" cy="24" r="9"/>').format(state, x))
        label = f"{attempt.ratio:.2f}x" if attempt.ratio is not None else str(attempt.gate)
        parts.append(_text(x, 48, f"#{attempt.id}", "middle"))
        parts.append(_text(x, 60, label, "middle"))
    return _svg(2 * edge + step * max(0, len(lineage) - 1), height, parts)


def _svg(width: int, height: int, parts: Sequence[Markup], title: str = "plot") -> Markup:
    head = Markup(
        '<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">'
    )
    return head.format(width, height, title) + Markup("").join(parts) + Markup("</svg>")


def _axes(frame: _Frame) -> Markup:
    shape = Markup('<path class="axis" d="M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}"/>')
    return shape.format(
        frame.margin, frame.margin, frame.height - frame.margin, frame.width - frame.margin
    )


def _line(frame: _Frame, points: Sequence[tuple[float, float]], style: str = "line") -> Markup:
    coordinates = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in points)
    return Markup('<polyline class="{}" points="{}"/>').format(style, coordinates)


def _dot(frame: _Frame, step: Improvement) -> Markup:
    x, y = frame.x(step.number), frame.y(step.ratio)
    return Markup('<circle class="passed" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(x, y)


def _bar(x: float, y: float, width: float, height: float) -> Markup:
    shape = Markup('<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    return shape.format(x, y, width, height)


def _text(x: float, y: float, text: str, anchor: str = "start") -> Markup:
    shape = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return shape.format(x, y, anchor, escape(text))
