"""Curves with error bars, as SVG."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_WIDTH, _HEIGHT, _MARGIN = 720, 360, 46
_COLOURS = ("#1b6ca8", "#c8553d", "#3c8d53", "#8a5a9e", "#b8860b", "#555555", "#00838f")


class Curve(NamedTuple):
    """One row per seed, one column per attempt."""

    name: str
    rows: npt.NDArray[np.float64]

    @property
    def mean(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.rows.mean(axis=0))

    @property
    def error(self) -> npt.NDArray[np.float64]:
        """One standard error of the mean over seeds."""
        count = len(self.rows)
        if count < 2:
            return np.zeros(self.rows.shape[1])
        return np.asarray(self.rows.std(axis=0, ddof=1) / np.sqrt(count))


def draw(curves: Sequence[Curve], title: str, path: Path) -> None:
    low = min(float((c.mean - c.error).min()) for c in curves)
    high = max(float((c.mean + c.error).max()) for c in curves)
    most = max(int(c.rows.shape[1]) for c in curves)

    def x(attempt: float) -> float:
        return _MARGIN + (attempt - 1) / max(1, most - 1) * (_WIDTH - 2 * _MARGIN)

    def y(value: float) -> float:
        return _HEIGHT - _MARGIN - (value - low) / max(1e-9, high - low) * (_HEIGHT - 2 * _MARGIN)

    parts = [f'<text x="{_MARGIN}" y="20" font-size="15">{title}</text>']
    for value in np.linspace(low, high, 5):
        parts.append(
            f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
            f'stroke="#ddd"/><text x="4" y="{y(value) + 4:.1f}">{value:.2f}</text>'
        )
    for number, curve in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        points = list(enumerate(zip(curve.mean, curve.error, strict=True), 1))
        upper = [f"{x(n):.1f},{y(m + e):.1f}" for n, (m, e) in points]
        lower = [f"{x(n):.1f},{y(m - e):.1f}" for n, (m, e) in reversed(points)]
        line = " ".join(f"{x(n):.1f},{y(m):.1f}" for n, (m, _) in points)
        parts.append(
            f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" opacity="0.15"/>'
        )
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        height = _HEIGHT - _MARGIN - 14 - 15 * number
        parts.append(
            f'<text x="{_WIDTH - _MARGIN}" y="{height}" text-anchor="end" fill="{colour}">'
            f"{curve.name}</text>"
        )
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 12}">attempts per task</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
    style = 'font-family="sans-serif" font-size="12">'
    path.write_text(f"{head}{style}\n" + "\n".join(parts) + "\n</svg>\n")
