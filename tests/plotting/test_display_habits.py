"""Every display: whose Axes, what is left behind, which colours, and whether it can be read."""

import io
import re

import matplotlib
import matplotlib.pyplot as plt
import pytest
from drawn_trials import made_trial, overlaps, overlaps_among, texts

import defero.plotting as plotting
from defero.core.errors import InputError
from defero.plotting import style

NAMES = [name for name in plotting.__all__ if name.endswith("Display")]
DISPLAYS = [getattr(plotting, name) for name in NAMES if name != "PoolFrontierDisplay"]  # which has no trials
EVERY = pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    plt.close("all")


@EVERY
def test_axes_that_are_given_are_used(display):
    figure, (ours, other) = plt.subplots(1, 2, figsize=(12, 5))
    drawn = display.from_trial(made_trial(3), ax=ours)
    assert drawn.ax_ is ours
    assert drawn.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert not other.has_data()
    assert not other.child_axes


@EVERY
def test_without_axes_there_is_one_new_figure_and_the_settings_stay_as_they_are(display):
    before = dict(matplotlib.rcParams)
    drawn = display.from_trial(made_trial(3))
    first = drawn.figure_
    assert len(plt.get_fignums()) == 1
    assert drawn.plot() is drawn
    assert drawn.figure_ is not first
    assert drawn.ax_ in drawn.figure_.axes
    assert len(plt.get_fignums()) == 2
    assert dict(matplotlib.rcParams) == before


@EVERY
def test_a_subfigure_will_do(display):
    figure = plt.figure(figsize=(12, 5))
    left, _ = figure.subfigures(1, 2)
    drawn = display.from_trial(made_trial(3), ax=left.add_subplot())
    assert drawn.figure_ is figure


@EVERY
@pytest.mark.parametrize("n_experts", [2, 10, 50])
def test_no_two_words_overlap_and_none_leaves_the_figure(display, n_experts):
    long = [
        f"expert {j} of the county hospital in ward {j}" if j % 2 else f"{j:02d}" + "W" * 16 for j in range(n_experts)
    ]
    trial = made_trial(n_experts, n_classes=10, n_items=400, names=tuple(long), silent=(1,) if n_experts > 2 else ())
    drawn = display.from_trial(trial)
    written = texts(drawn.figure_)
    assert overlaps_among(written, drawn.figure_) == []
    assert len(written) > 5
    if display in (plotting.ReliabilityDisplay, plotting.ExpertLoadDisplay):
        words = "\n".join(text for text, _ in written).split("\n")
        assert {style.short(name) for name in long} <= set(words)


def test_the_check_of_overlaps_sees_one():
    figure, ax = plt.subplots()
    ax.text(0.5, 0.5, "one")
    ax.text(0.51, 0.5, "two")
    ax.text(2.0, 0.5, "out")
    assert [pair[:2] for pair in overlaps(figure)] == [("one", "two"), ("out", "leaves the figure")]


@EVERY
@pytest.mark.parametrize("made", ["our own figure", "axes of a dark theme"])
def test_there_is_no_other_black_white_or_grey(display, made):
    trial = made_trial(3, silent=(2,))
    if made == "our own figure":
        drawn = display.from_trial(trial)
    else:
        with plt.style.context("dark_background"):
            figure = plt.figure(facecolor=style.PAPER)
            drawn = display.from_trial(trial, ax=figure.add_subplot())
    written = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        drawn.figure_.savefig(written, format="svg")
    svg = written.getvalue()
    colours = set(re.findall(r"#[0-9a-f]{6}\b", re.sub(r"(?:href|url)\S*", "", svg)))
    themed = {style.INK, style.MUTED, style.GRID, style.PAPER}
    strange = {colour for colour in colours - themed if _is_grey(colour)}
    assert strange == set()
    assert style.INK in colours
    # Words without a colour of their own are black.
    assert all("fill: #" in one for one in re.findall(r"<text[^>]*>", svg))


def _is_grey(colour):
    channels = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return max(channels) - min(channels) < 24


@pytest.mark.parametrize("name", ["ReliabilityDisplay", "ExpertLoadDisplay"])
def test_names_are_written_as_they_are(name):
    drawn = getattr(plotting, name).from_trial(made_trial(3, names=("$x^{$", "_b", "a\nb")))
    words = "\n".join(text for text, _ in texts(drawn.figure_))
    assert all(one in words for one in ("$x^{$", "_b", "a b"))


@EVERY
def test_a_single_case_is_drawn(display):
    drawn = display.from_trial(made_trial(2, n_items=1, answered=1.1))
    assert overlaps(drawn.figure_) == []


@EVERY
def test_a_team_without_experts_gives_a_picture_or_a_sentence(display):
    trial = made_trial(0)
    sentences = {
        "DeferralCurveDisplay": "no case could be deferred to anybody",
        "ExpertLoadDisplay": "at least one expert, got none",
        "AgreementDisplay": "at least one expert, got none",
    }
    if display.__name__ in sentences:
        with pytest.raises(InputError, match=sentences[display.__name__]):
            display.from_trial(trial)
        assert plt.get_fignums() == []
    else:
        assert overlaps(display.from_trial(trial).figure_) == []


@EVERY
def test_nothing_deferred_is_drawn(display):
    assert overlaps(display.from_trial(made_trial(3, defer="nobody")).figure_) == []


@pytest.mark.parametrize(
    "name",
    [
        "ReliabilityDisplay",
        "DeferralCurveDisplay",
        "ExpertLoadDisplay",
        "AgreementDisplay",
    ],
)
def test_no_cases_give_a_sentence(name):
    with pytest.raises(InputError, match="at least one case, got none"):
        getattr(plotting, name).from_trial(made_trial(2, n_items=0))


def test_long_names_keep_both_ends_and_percent_never_rounds_to_certainty():
    assert style.short("a" * 18) == "a" * 18
    assert style.short("a" * 15 + "bcde") == "aaaaaaaaa…aaaabcde"
    assert len(style.short("x" * 99)) == 18
    written = [style.percent(share) for share in (0.0, 0.0004, 0.0006, 0.5, 0.9994, 0.9996, 1.0)]
    assert written == [f"{number}\u00a0%" for number in ("0.0", "<0.1", "0.1", "50.0", "99.9", ">99.9", "100.0")]


def test_ticks_have_as_many_digits_as_they_need_and_the_sign_apart():
    _, ax = plt.subplots()
    style.in_percent(ax.xaxis)
    written = [ax.xaxis.get_major_formatter()(share) for share in (0.0, 0.85, 0.9995, 1.0)]
    assert written == [f"{number}\u00a0%" for number in ("0", "85", "99.95", "100")]


def test_names_are_written_as_they_are_on_axes_that_have_been_drawn_before():
    figure, ax = plt.subplots()
    figure.canvas.draw()
    drawn = plotting.ExpertLoadDisplay.from_trial(made_trial(3, names=("$x^{$", "b", "c")), ax=ax)
    assert "$x^{$" in [text for text, _ in texts(drawn.figure_)]
