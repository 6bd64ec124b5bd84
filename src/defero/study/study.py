"""Study: from past cases to a team that is fitted, calibrated, conformalized, tested, saved and used."""

from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from defero.core import ExpertTable
from defero.core.display import Preformatted
from defero.core.errors import InputError
from defero.core.wording import join_names
from defero.data.cases import Cases
from defero.data.recipes.text_encoder import Encoder
from defero.decide.terms import LIMITS, Terms, check_terms
from defero.study.engines import engine_by_name
from defero.study.fitting.choices import ALPHA, TARGET, FitChoices
from defero.study.fitting.fit_team import fit_team
from defero.study.fitting.notes import class_counts, sizes_sentence
from defero.study.fitting.parts import check_cases, check_seed, check_test_share, checked_parts
from defero.study.judging.evaluation import Evaluation, judge_rows
from defero.study.money import terms_of_study, with_files
from defero.study.routing.by_file import FILE_OPTIONS, FolderRouting, route_folder
from defero.study.team import TeamAtWork
from defero.team import Team
from defero.team.rows import Fingerprints

if TYPE_CHECKING:
    from defero.estimators.recipe import Recipe

PARTS = ("train", "calibrate", "conformalize", "test")


class Study(Preformatted, TeamAtWork):
    """Past cases in four disjoint parts, and the team that is made of them.

    Parameters
    ----------
    cases : Cases, optional
        What `read_cases` returned. None: a team without the cases that it was made of, as `Study.load` gives it.
    groups : str, optional
        Column of group ids, such as patient ids. All rows of a group go to the same part.
    time : str, optional
        Column of dates or numbers: learn from the earliest cases, test on the latest.
    split : str, optional
        Column that says train, test, val, ...: which part a case is in.
    test_share : float, optional
        Share of the cases that are kept for the test; 0.2 by default.
    random_state : int
        Makes the run repeatable.
    team : Team, optional
        A fitted team.
    name : str
        What messages call the team.

    Attributes
    ----------
    cases : Cases or None
        Without the columns that the table is split by among their features.
    parts : four ExpertTable
        To learn from, to calibrate, to conformalize, for the test.
    team : Team or None
    notes : list of str
        What looked like a mistake, or was left out; after `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> from defero import read_cases
    >>> from defero.datasets import wedge
    >>> past, expert_names = wedge(400, random_state=0), ["ann", "bob", "cem", "dot"]
    >>> frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
    >>> frame[expert_names] = past.answers
    >>> study = Study(read_cases(frame, label="truth", expert_names=expert_names))
    >>> [len(part) for part in study.parts]
    [201, 59, 60, 80]
    """

    def __init__(
        self,
        cases: Cases | None = None,
        *,
        groups: str | None = None,
        time: str | None = None,
        split: str | None = None,
        test_share: float | None = None,
        random_state: int = 0,
        team: Team | None = None,
        name: str = "team",
    ) -> None:
        check_cases(cases)
        check_test_share(test_share, split=split)
        check_seed(random_state)
        self.team, self.name, self.random_state = team, name, random_state
        self.notes: list[str] = []
        self._choices: FitChoices | None = None
        self._seen: Mapping[str, Fingerprints] | None = None
        self.parts: tuple[ExpertTable, ...] = ()
        self.cases, self._given, self._test_share = None, cases, test_share
        if cases is not None:
            self.cases = cases.split_by(groups=groups, time=time, split=split)
            self.parts = checked_parts(self.cases, test_share=test_share, random_state=random_state)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(part)} {name}" for name, part in zip(PARTS, self.parts, strict=False))
        cases = "no cases" if self.cases is None else f"{len(self.cases)} cases of {self.cases.source} ({sizes})"
        who = (
            "no team yet" if self.team is None else f"a team with {join_names(self.team.expert_names) or 'no experts'}"
        )
        return f"Study: {cases}, {who}."

    def fit(
        self,
        net: str = "auto",
        *,
        loss: str = "auto",
        answer_weights: str | None = None,
        alpha: float = ALPHA,
        target: str = TARGET,
        terms: Terms | None = None,
        recipe: "Recipe | None" = None,
        checkpoints: str | None = None,
        progress: bool = False,
    ) -> Team:
        """Train on the first part, calibrate on the second and find panels on the third.

        Parameters
        ----------
        net, loss, answer_weights
            As in `DeferralClassifier`. "auto": what the docs advise.
        alpha : float
            How often a panel may break its promise.
        target : "any-correct", "all-correct" or "missed-share"
            What a panel promises.
        terms : Terms, optional
            What questions to the experts and errors cost: the panels' promise is for these fees and costs.
        recipe, checkpoints
            Settings of the training, and a folder for a deep net's checkpoint, as in `DeferralClassifier`.
        progress : bool
            Show a progress bar.

        Returns
        -------
        Team
            The team, fitted, calibrated and with panels.
        """
        choices = FitChoices(
            net=net,
            loss=loss,
            answer_weights=answer_weights,
            alpha=alpha,
            target=target,
            recipe=recipe,
            checkpoints=checkpoints,
        )
        table = self._own_cases("fit").table
        said = with_files(check_terms(terms, unused=("absent", "available", "prices", *LIMITS)), table.classes)
        self.team, self.notes = fit_team(
            self._own_cases("fit"),
            self.parts,
            choices,
            terms=said.of(table.expert_names, table.classes),
            random_state=self.random_state,
            progress=progress,
        )
        self._choices, self._seen = choices, self.team.seen
        return self.team

    def route_folder(
        self,
        folder: str | PathLike[str],
        out: str | PathLike[str],
        *,
        engine: str = "local",
        workers: int | None = None,
        address: str | None = None,
        **options: Any,
    ) -> FolderRouting:
        """Route each Parquet file of a folder to a file of the same name in another folder.

        Files that are done are not routed again, so that a call that was stopped goes on where it was. The decisions
        are the same bytes, whatever the engine and the number of workers.

        Parameters
        ----------
        folder, out : paths
            Of the cases, and of the decisions. Columns that stand in the names of folders (year=2024) are not read.
        engine, workers, address
            Where the files are routed: "local" (one process, or a pool of `workers`) or "ray" (a cluster at `address`,
            or one on this machine).
        **options
            key, terms, ask, uncertainty, unusual, bad_rows and blank, as in `route`. Limits and answers so far are
            about all cases together: call `route` with them.
        """
        limits = [name for name in check_terms(options.get("terms")).given() if name in LIMITS]
        for name in (*options, *limits):
            if name not in FILE_OPTIONS:
                raise InputError(
                    ": several workers decide each file on its own; leave it out, or route the folder to one file.",
                    argument=name,
                )
        where = engine_by_name(engine, workers=workers, address=address)
        return route_folder(self._ready(), folder, out, name=self.name, engine=where, options=options)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, text_encoder: Encoder = None) -> "Study":
        """Read the team in a model folder; `text_encoder` is that of `Team.load`."""
        path = Path(folder)
        if path.is_file():
            raise InputError(f"{folder}: is a file and not a model folder; name the folder that save or fit wrote.")
        return cls(team=Team.load(path, text_encoder=text_encoder), name=str(folder))

    def describe(self, *, most_features: int = 12) -> list[str]:
        """Return what `fit` did: the parts, the classes, the features, the network, the calibration."""
        cases, team, choices = self._own_cases("describe"), self._ready(), self._own_choices("describe")
        classes = join_names(f"{name} ({count})" for name, count in class_counts(cases.table).items())
        calibration = [] if team.calibrator is None else team.calibrator.describe()
        features = self._features()
        more = len(features) - most_features
        return [
            sizes_sentence(cases, self.parts, calibrates_itself=choices.calibrates_itself),
            f"Classes: {classes}.",
            "Features:",
            *(f"  {sentence}" for sentence in features[:most_features]),
            *([f"  ... and {more} more columns; to_dict (--json) has all."] if more > 0 else []),
            choices.sentence(team),
            *calibration,
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero fit --json` prints."""
        choices, team, facts = self._own_choices("to_dict"), self._ready(), self._ready().facts
        return {
            "model": self.name,
            "rows": dict(zip(PARTS, map(len, self.parts), strict=True)),
            "features": self._features(),
            **choices.outcome(team),
            "calibration": [] if team.calibrator is None else team.calibrator.describe(),
            "answering": None if facts.answering is None else asdict(facts.answering),
            "shared_errors": None if facts.shared_errors is None else asdict(facts.shared_errors),
            "notes": list(self.notes),
            "test": self.evaluate().record_dict(),
        }

    def _features(self) -> list[str]:
        recipe = self._ready().recipe
        return [] if recipe is None else recipe.describe()

    def _own_cases(self, method: str) -> Cases:
        if self.cases is None:
            raise InputError(f"{method}: this study has a team but no cases; make one with Study(read_cases(...)).")
        return self.cases

    def _own_choices(self, method: str) -> FitChoices:
        if self._choices is None:
            raise InputError(f"{method}: tells what fit did, but this study has not fitted its team; call fit first.")
        return self._choices

    def _evaluate_test(self, *, ask: str, terms: Terms | None, random_state: int) -> Evaluation:
        if self.cases is None:
            return super()._evaluate_test(ask=ask, terms=terms, random_state=random_state)
        team, cases, test = self._ready(), self.cases, self.parts[3]
        if set(team.expert_names) != set(test.expert_names):
            raise InputError(
                f": the team has the experts {join_names(team.expert_names)}, but the test part has answers of "
                f"{join_names(test.expert_names)}; pass a table with the answers of all.",
                argument="table",
            )
        return judge_rows(
            team,
            cases,
            cases.frame.index.isin(test.features.index),
            model=self.name,
            rows=len(test),
            ask=ask,
            terms=terms_of_study(terms, team),
            random_state=random_state,
            # Every stage replaces `seen`: a team that fit did not leave so may have used rows of the test part.
            disjoint=team.seen is self._seen,
        )
