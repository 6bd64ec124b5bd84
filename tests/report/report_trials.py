"""Small trials with everything that a report has to show, and a strict reader of pages."""

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

import numpy as np

from defero.report import Provenance, report_page
from defero.team import Team, record_of, try_out

NASTY = '<b>&"Ann" $x^2$'
VOID = {"meta", "br", "hr"}


@cache
def trial_and_record(n=120, names=(NASTY, "bob", "eve"), *, classes=("<i>odd</i>", "benign", "malign"), panel=True):
    """Return a team on made-up cases: expert j knows class j, answers two thirds of the cases, and is read well."""
    rng = np.random.default_rng(5)
    n_classes = len(classes)
    label_idx = rng.integers(0, n_classes, n)
    class_proba = rng.dirichlet(np.ones(n_classes), n)
    class_proba[np.arange(n), label_idx] += 0.3
    class_proba /= class_proba.sum(axis=1, keepdims=True)
    skill = np.where(label_idx[:, None] == np.arange(len(names)) % n_classes, 0.95, 0.6)
    right = rng.random(skill.shape) < skill
    named = np.array(classes, dtype=object)[np.where(right, label_idx[:, None], (label_idx[:, None] + 1) % n_classes)]
    answers = np.where(rng.random(skill.shape) < 1 / 3, None, named) if names else np.empty((n, 0), dtype=object)
    team = Team.from_probabilities(class_proba, skill, classes=list(classes), expert_names=list(names))
    labels = np.array(classes, dtype=object)[label_idx]
    if panel:
        team = team.copy().conformalize(None, labels, answers, alpha=0.2)
    trial = try_out(team, None, labels, answers)
    return trial, record_of(team, trial)


def provenance(**changes):
    """Return where a made-up report comes from."""
    values = {
        "model": "model",
        "table": "wards/<new>.csv",
        "rows": 1500,
        "left_out": 1380,
        "seed": 7,
        "fingerprint": "00ff00ff00ff00ff",
        "command": "defero report model 'wards/<new>.csv' --out report.html --seed 7",
        "made": "2026-01-02 03:04 UTC",
        "versions": {"numpy": "2.4.6"},
        "settings": {"label": "truth"},
    }
    return Provenance(**{**values, **changes})


@cache
def page_of(*arguments, **options):
    """Return the page of `trial_and_record`, made once."""
    return report_page(*trial_and_record(*arguments, **options), provenance())


@dataclass
class ReadCell:
    """A cell of a table: its words, the classes in it, and the lines drawn in it by their class."""

    words: list = field(default_factory=list)
    kinds: set = field(default_factory=set)
    lines: dict = field(default_factory=dict)

    def __str__(self):
        return " ".join(" ".join(self.words).split())


@dataclass
class ReadTable:
    """A table and where it stands."""

    section: str
    caption: list = field(default_factory=list)
    rows: list = field(default_factory=list)


class Reader(HTMLParser):
    """Reads a page and fails where a browser would have to guess."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.targets, self.levels, self.tags = [], [], [], [], []
        self.attributes, self.words, self.tables, self.section = [], [], [], ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert all(value is not None for _, value in attrs)
        assert len({name for name, _ in attrs}) == len(attrs)
        values = dict(attrs)
        self.tags.append((tag, values))
        self.attributes += attrs
        self.ids += [values["id"]] if "id" in values else []
        self.targets += [values["href"]] if "href" in values else []
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)
        self._see_table(tag, values)

    def _see_table(self, tag, values):
        if tag == "section":
            self.section = values.get("id", "")
        elif tag == "table":
            self.tables.append(ReadTable(self.section))
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag in ("th", "td"):
            self.tables[-1].rows[-1].append(ReadCell())
        if "td" in self.open or "th" in self.open:
            cell = self.tables[-1].rows[-1][-1]
            cell.kinds |= set(values.get("class", "").split())
            if tag == "line":
                cell.lines[values["class"]] = float(values["x1"]), float(values["x2"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1].rows[-1][-1].words.append(data)
        elif "caption" in self.open:
            self.tables[-1].caption.append(data)

    @property
    def text(self):
        """What a person can read, words apart by one blank."""
        return " ".join(" ".join(self.words).split())

    @property
    def lines(self):
        """The same, a line for each part of the page."""
        return [line for words in self.words if (line := " ".join(words.split()))]

    def cells(self, section, caption=""):
        """Return {head of the row: {head of the column: cell}} of a section's tables whose caption begins so."""
        cells = {}
        for table in self.tables:
            if table.section == section and "".join(table.caption).startswith(caption):
                head, *rows = table.rows
                columns = [str(cell) for cell in head]
                for first, *rest in rows:
                    # Tables that stand side by side have the same rows.
                    cells.setdefault(str(first), {}).update(zip(columns[1:], rest, strict=True))
        return cells

    def rows(self, section, caption=""):
        """Return the same with the words of each cell, in order."""
        cells = self.cells(section, caption)
        return {name: [str(cell) for cell in row.values()] for name, row in cells.items()}
