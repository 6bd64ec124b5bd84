"""Curves with published points: what is drawn where, and that the files do not change by themselves."""

import math

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from defero import InputError
from defero_verma2023.figures.curve_panel import Curve, CurvePanel, Marks
from defero_verma2023.figures.published_curves import MOST_ENTRIES, draw_panels, save_picture

OURS = Marks((1.0, 2.0, 3.0), (80.0, 85.0, 90.0), (1.0, math.nan, 0.5))
THEIRS = Marks((1.0, 3.0), (79.0, 91.0), (0.3, 0.3))
LEVEL = Marks((math.nan,), (82.0,), (0.5,))
NONE = Marks()


def panel(*curves, **options):
    return CurvePanel("accuracy", "percent", curves, **options)


def curve(ours=OURS, published=THEIRS, **options):
    return Curve(**{"label": "OvA", "colour": "#0072b2", "marker": "o", **options}, ours=ours, published=published)


def draw(*panels, **options):
    return draw_panels(panels, **{"x_label": "experts", "title": "a figure", "note": "filled: ours", **options})


def marks(ax):
    """Those lines of the axes that have marks."""
    return [line for line in ax.lines if line.get_marker() == "o"]


def test_ours_is_filled_on_a_thick_line_and_theirs_is_hollow_on_a_thin_one():
    (ax,) = draw(panel(curve())).axes
    ours, theirs = marks(ax)
    np.testing.assert_array_equal(ours.get_xydata(), [[1, 80], [2, 85], [3, 90]])
    np.testing.assert_array_equal(theirs.get_xydata(), [[1, 79], [3, 91]])
    assert to_rgba(ours.get_markerfacecolor())[:3] == to_rgba("#0072b2")[:3]
    assert theirs.get_markerfacecolor() == "none"
    assert (ours.get_linestyle(), theirs.get_linestyle()) == ("-", "-")
    assert ours.get_linewidth() > 2 * theirs.get_linewidth()


@pytest.mark.parametrize("n_panels", [1, 2])
def test_title_and_note_stay_within_the_picture(n_panels):
    note = (
        "filled: trained by us, 3 seeds (OvA, softmax, two-stage), 1 seed (decoupled, asymmetric); hollow: published. "
        "Bars: standard errors over seeds, filled and hollow alike. One seed has none, and is provisional. Nets: "
        "wrn-28-4 (OvA, softmax); wrn-28-4, frozen (two-stage); wrn-28-4, tuned (decoupled, asymmetric)."
    )
    figure = draw(*[panel(curve())] * n_panels, title=note, note=note)
    figure.draw_without_rendering()
    width, _ = figure.get_size_inches() * figure.dpi
    for text in (figure._suptitle, figure._supxlabel):
        assert text.get_window_extent().x0 >= 0
        assert text.get_window_extent().x1 <= 0.98 * width  # letters are a little wider in files


def test_the_axis_holds_the_bars_and_not_a_baseline_far_below():
    low = curve(Marks((1.0, 2.0), (10.0, 20.0), (0.0, 0.0)), NONE, frames=False)
    (ax,) = draw(panel(curve(), low)).axes
    bottom, top = ax.get_ylim()
    assert 70 < bottom < 78.7
    assert 91.3 < top < 95


def test_a_baseline_is_drawn_where_the_axis_reaches_and_its_label_says_so():
    low = curve(Marks((1.0, 2.0), (10.0, 85.0), (0.0, 0.0)), NONE, frames=False, label="best")
    (ax,) = draw(panel(curve(), low)).axes
    np.testing.assert_array_equal(marks(ax)[-1].get_ydata(orig=False), [math.nan, 85.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["OvA", "best (partly off axis)"]
    (ax,) = draw(panel(curve(), curve(Marks((1.0,), (10.0,), (0.0,)), NONE, frames=False, label="best"))).axes
    assert ax.get_legend().get_texts()[-1].get_text() == "best (off axis)"


def test_a_gap_is_not_bridged_and_moves_no_axis():
    gap = curve(Marks((1.0, 2.0, 3.0), (80.0, math.nan, 90.0), (1.0, math.nan, 1.0)), NONE)
    whole = curve(Marks((1.0, 3.0), (80.0, 90.0), (1.0, 1.0)), NONE)
    with_gap, without = (draw(panel(one)).axes[0] for one in (gap, whole))
    np.testing.assert_array_equal(marks(with_gap)[0].get_ydata(orig=False), [80.0, math.nan, 90.0])
    assert with_gap.get_ylim() == without.get_ylim()
    first = curve(Marks((0.0, 1.0, 3.0), (math.nan, 80.0, 90.0), (math.nan, 1.0, 1.0)), NONE)
    assert draw(panel(first)).axes[0].get_ylim() == without.get_ylim()


def test_panels_of_one_measure_have_one_axis():
    left, right, other = draw(
        panel(curve()), panel(curve(LEVEL, NONE)), CurvePanel("sizes", "experts", (curve(),), from_zero=True)
    ).axes
    assert left.get_ylim() == right.get_ylim()
    assert other.get_ylim()[0] == 0


def test_a_level_is_a_line_from_side_to_side():
    (ax,) = draw(panel(curve(), curve(LEVEL, LEVEL, label="one"))).axes
    levels = [line for line in ax.lines if list(line.get_ydata()) == [82.0, 82.0]]
    assert len(levels) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["OvA", "one", "one, published"]


def test_a_level_of_ours_alone_and_a_reference_are_named_on_their_lines():
    level = curve(LEVEL, NONE, label="one classifier")
    (ax,) = draw(panel(curve(), level, reference=(70.0, "as promised"))).axes
    assert {text.get_text() for text in ax.texts} == {"one classifier", "as promised"}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["OvA"]
    assert [70.0, 70.0] in [list(line.get_ydata()) for line in ax.lines]
    assert ax.get_ylim()[0] < 70.0


@pytest.mark.parametrize(("heights", "above"), [((81.0, 81.0, 81.0), False), ((79.0, 79.0, 79.0), True)])
def test_a_name_stands_on_the_side_without_curves(heights, above):
    near = curve(Marks((1.0, 2.0, 3.0), heights, (0.0, 0.0, 0.0)), NONE)
    far = curve(Marks((1.0, 3.0), (70.0, 90.0), (0.0, 0.0)), NONE)
    (ax,) = draw(panel(near, far, reference=(80.0, "as promised"))).axes
    (name,) = ax.texts
    assert (name.get_va() == "bottom") == above


def test_a_legend_stays_short():
    curves = [curve(label=str(place)) for place in range(MOST_ENTRIES + 1)]
    assert len(draw(panel(*curves[:-1])).axes[0].get_legend().get_texts()) == MOST_ENTRIES
    with pytest.raises(InputError, match=f"at most {MOST_ENTRIES} entries, got {MOST_ENTRIES + 1}"):
        draw(panel(*curves))


def test_what_has_no_point_is_neither_drawn_nor_in_the_legend():
    (ax,) = draw(panel(curve(), curve(NONE, NONE, label="absent")), panel(curve(NONE, NONE))).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["OvA"]
    with pytest.raises(InputError, match="at least one point, got none"):
        draw(panel(curve(NONE, NONE)))


def test_who_is_only_published_is_hollow_in_the_legend():
    (ax,) = draw(panel(curve(NONE, THEIRS))).axes
    (handle,) = ax.get_legend().legend_handles
    assert handle.get_markerfacecolor() == "none"


def test_places_are_the_ticks_and_the_diagonal_has_a_name():
    (ax,) = draw(panel(curve(), diagonal=True)).axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3"]
    assert [text.get_text() for text in ax.texts] == ["y = x"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["OvA"]


def test_a_logarithmic_axis_is_written_in_plain_numbers():
    figure = draw(panel(curve(Marks((1.0, 2.0), (0.5, 50.0), (0.1, 1.0)), NONE), log=True))
    (ax,) = figure.axes
    figure.canvas.draw()
    assert ax.get_yscale() == "log"
    assert {"1", "10"} <= {text.get_text() for text in ax.get_yticklabels()}


def test_long_words_stay_inside():
    figure = draw(panel(curve()), title="a long title " * 12, note="a long note " * 20)
    figure.canvas.draw()
    width = figure.bbox.width
    assert all(text.get_window_extent().x1 <= width for text in figure.texts)


def test_the_same_figure_is_the_same_bytes(tmp_path):
    made = [save_picture(draw(panel(curve())), tmp_path / name / "picture") for name in ("one", "two")]
    for one, two in zip(*made, strict=True):
        assert one.read_bytes() == two.read_bytes()
    svg = made[0][0].read_text(encoding="utf-8")
    assert "<dc:date>" not in svg
    assert [path.name for path in made[0]] == ["picture.svg", "picture.png"]
