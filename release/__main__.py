"""Ask every question of a release: python -m release [--with-torch]."""

import argparse
import sys
import tempfile
from pathlib import Path

from release.checklist import Checklist, refuse
from release.contents import SOURCES
from release.distributions import build, check_metadata, look_into, wheel_of
from release.environment import UV, Environment, run
from release.repository import check_clean, check_links, check_tag
from release.trials.installed_tests import run_tests
from release.trials.notebooks import run_notebooks
from release.trials.paper import reproduce
from release.trials.readme import run_commands, run_demo, run_python
from release.trials.service import serve_and_answer
from release.versions import changelog_faults, disagreements

ROOT = Path(__file__).parents[1]
CFF_TOOL = "cffconvert==2.0.0"
"""Holds the schema of CITATION.cff; it runs in an environment of its own, as its pins are old."""


def main() -> int:
    """Answer the list; 0 where every answer is yes."""
    parser = argparse.ArgumentParser(description="Is this commit ready to be released?")
    parser.add_argument("--with-torch", action="store_true", help="install PyTorch too, and train a little")
    given = parser.parse_args()
    checks = Checklist()
    with tempfile.TemporaryDirectory(prefix="defero-release-") as name:
        folder = Path(name)
        clone, dist = folder / "clone", folder / "dist"
        checks.ask("Is everything committed?", lambda: check_clean(ROOT))
        run(["git", "clone", "--quiet", "--no-local", ROOT, clone], cwd=folder)
        of_the_files(checks, clone)
        of_the_wheels(checks, clone, dist, folder, with_torch=given.with_torch)
    count = sum(yes for yes, _ in checks.answers.values())
    print(f"\n{count} of {len(checks.answers)} yes. {'Ready.' if checks.all_yes else 'Not ready.'}")
    return 0 if checks.all_yes else 1


def of_the_files(checks: Checklist, clone: Path) -> None:
    """Ask about version, changelog, citation, tag and links."""
    checks.ask("Does every file name the same version?", lambda: refuse(disagreements(clone)))
    checks.ask("Has the changelog the usual form?", lambda: refuse(changelog_faults(clone)))
    checks.ask("Does the citation follow its schema?", lambda: _check_citation(clone))
    checks.ask("Is the tag free, or this commit?", lambda: check_tag(ROOT))
    checks.ask("Does every link of a page lead somewhere?", lambda: check_links(clone))


def of_the_wheels(checks: Checklist, clone: Path, dist: Path, folder: Path, *, with_torch: bool) -> None:
    """Ask about the wheels: what they hold, and what a newcomer can do with them."""
    readme = (clone / "README.md").read_text(encoding="utf-8")
    environment = Environment.create(folder, constraints=clone / "constraints.txt")

    def wheel(extra: str = "") -> str:
        return f"defero{extra} @ {wheel_of(SOURCES[0], dist).as_uri()}"

    built = "Do wheels and sdists build from what is committed?"
    checks.ask(built, lambda: build(clone, dist))
    with checks.only_after(built) as ask:
        ask("Do they hold what they should, and nothing else?", lambda: look_into(dist, clone))
        ask("Is their metadata whole?", lambda: check_metadata(dist, clone))
        installed = "Does the wheel install into an empty environment?"
        ask(installed, lambda: environment.install(wheel()))
    with checks.only_after(built, installed) as ask:
        demo = "Does the demo run, without PyTorch?"
        ask(demo, lambda: run_demo(environment))
    with checks.only_after(built, installed, demo) as ask:  # it leaves the tables of what follows
        ask("Does README's Python run?", lambda: run_python(environment, readme))
        ask("Do README's commands run?", lambda: run_commands(environment, readme))
        ask("Does [service] install?", lambda: environment.install(wheel("[service]")))
        ask("Does the service take a case and an answer?", lambda: serve_and_answer(environment))
    with checks.only_after(built, installed) as ask:
        ask("Does the paper's wheel install?", lambda: _install_paper(environment, dist))
        ask("Does `defero reproduce` know its figures?", lambda: reproduce(environment))
        ask("Do tests pass against the installed wheel?", lambda: run_tests(environment, clone))
        ask("Do the notebooks run in Jupyter's kernel?", lambda: run_notebooks(environment, clone))
        if with_torch:
            ask("Does [train] install?", lambda: environment.install(wheel("[train]")))
            ask("Does README's Python run with PyTorch?", lambda: run_python(environment, readme))


def _install_paper(environment: Environment, dist: Path) -> None:
    # Its dependency is PyTorch's extra, which --with-torch tries: here the package alone, beside the same version.
    environment.install(f"defero-verma2023 @ {wheel_of(SOURCES[1], dist).as_uri()}", options=["--no-deps"])


def _check_citation(clone: Path) -> str:
    tool = [UV, "tool", "run", "--quiet", "--from", CFF_TOOL, "cffconvert", "--validate", "--infile", "CITATION.cff"]
    return run(tool, cwd=clone).strip()


if __name__ == "__main__":
    sys.exit(main())
