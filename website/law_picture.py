"""`python -m website.law_picture`: what equal answers say of a case, the picture of docs/explanation/law.md."""

from pathlib import Path

import numpy as np

from defero.core.belief import belief_of
from defero.core.law import Law, uniform_errors

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "law.svg"
N_ANSWERS = (0, 1, 2, 3, 4, 5)
RIGHT, DIFFICULTY, TEMPER = 0.8, 1.5, 0.2
_LEFT, _BOTTOM, _WIDTH, _HEIGHT = 70, 300, 400, 250
_STYLE = """
    text { font-size: 14px; fill: #44505c }
    .title { font-size: 16px; font-weight: 600; fill: #16324f }
    .grid { stroke: #d5dbe2; stroke-width: 1 }
    path { fill: none; stroke-width: 2.5 }
"""


def beliefs() -> dict[str, list[float]]:
    """Return P(the class that all name) after 0 to 5 equal answers, of two classes, in three readings."""
    law = Law(uniform_errors(2), difficulty=DIFFICULTY, temper=TEMPER)
    lines: dict[str, list[float]] = {"independent": [], "by the law": [], "reported": []}
    for n in N_ANSWERS:
        answers, right, model = np.ones((1, n), dtype=np.int64), np.full(n, RIGHT), np.full((1, 2), 0.5)
        believed = belief_of(law, model, right, answers)
        lines["independent"].append(float(belief_of(Law.independent(2), model, right, answers).posterior[0, 1]))
        lines["by the law"].append(float(believed.posterior[0, 1]))
        lines["reported"].append(float(believed.reported[0, 1]))
    return lines


def drawing() -> str:
    """Return the picture as SVG."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 360" width="640" height="360" role="img" '
        'aria-label="Belief after equal answers of experts who are right in 80 % of cases" '
        "font-family=\"system-ui, -apple-system, 'Segoe UI', sans-serif\">",
        f"  <style>{_STYLE}  </style>",
        '  <rect width="640" height="360" rx="10" fill="#f7f9fb"/>',
        f'  <text class="title" x="{_LEFT}" y="20">Probability of the class that all experts named</text>',
        f'  <text x="{_LEFT}" y="38">each is right in 80 %, two classes</text>',
    ]
    for level in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        y = _y(level)
        parts.append(f'  <line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _WIDTH}" y2="{y:.1f}"/>')
        parts.append(f'  <text x="{_LEFT - 10}" y="{y + 5:.1f}" text-anchor="end">{level:.1f}</text>')
    for n in N_ANSWERS:
        parts.append(f'  <text x="{_x(n):.1f}" y="{_BOTTOM + 22}" text-anchor="middle">{n}</text>')
    axis = "number of experts who gave the same answer"
    parts.append(f'  <text x="{_x(2.5):.1f}" y="{_BOTTOM + 46}" text-anchor="middle">{axis}</text>')
    colours = {"independent": "#b4552d", "by the law": "#2f5d8a", "reported": "#3d7a4a"}
    label_y = -np.inf
    for name, values in beliefs().items():  # the highest first: a label stands well below the one before
        label_y = max(_y(values[-1]) + 5, label_y + 22)
        points = " L ".join(f"{_x(n):.1f} {_y(value):.1f}" for n, value in zip(N_ANSWERS, values, strict=True))
        parts.append(f'  <path d="M {points}" stroke="{colours[name]}"/>')
        parts.append(
            f'  <text x="{_LEFT + _WIDTH + 12}" y="{label_y:.1f}" style="fill: {colours[name]}">'
            f"{name} {values[-1]:.3f}</text>"
        )
    return "\n".join([*parts, "</svg>", ""])


def _x(n_answers: float) -> float:
    return _LEFT + _WIDTH * n_answers / N_ANSWERS[-1]


def _y(proba: float) -> float:
    return _BOTTOM - _HEIGHT * (proba - 0.5) / 0.5


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
    print(f"wrote {PICTURE}")
