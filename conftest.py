"""Shapes in signatures are enforced in the rooms that sit behind a checked edge: swapping K and J fails here."""

import os
import tempfile
from importlib.util import find_spec

import pytest
from hypothesis import settings
from jaxtyping import config, install_import_hook

ROOMS = ("losses", "nets", "training")
"""What needs PyTorch."""
install_import_hook([f"defero.{room}" for room in ROOMS], "beartype.beartype")
CHECKED = {*ROOMS, "estimators"}
"""Whose tests check shapes. The others fit hundreds of networks through the same code; checks were a sixth of that."""

# The same examples in every run: more of them are worth their time once in a while, by `make slow`.
settings.register_profile("defero", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=200, deadline=None, derandomize=True)
settings.load_profile("defero")

# The key of row fingerprints is made at first use: not in the home of whoever runs the tests.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="defero-config-")
os.environ.pop("DEFERO_ROWS_KEY", None)

TORCH = find_spec("torch") is not None
INSTALL = "pip install 'defero[train]'"
SERVICE = find_spec("fastapi") is not None and find_spec("sqlalchemy") is not None
SITE = find_spec("mkdocs") is not None
LACKING = (*(() if TORCH else ROOMS), *(() if SERVICE else ("service", "browser")))
# Without PyTorch, or without what the service needs, tests of these rooms are not even collected. Alembic runs the
# migrations as scripts.
collect_ignore_glob = [
    "src/defero/service/store/migrations/*",
    *(() if SITE else ("website/*",)),
    # The folder too: its conftest.py would be loaded before its files are left out.
    *(f"{place}/{room}{ending}" for place in ("tests", "src/defero") for room in LACKING for ending in ("", "/*")),
]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Check shapes in the tests of the rooms that have them."""
    config.update("jaxtyping_disable", CHECKED.isdisjoint(item.path.relative_to(item.config.rootpath).parts))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip a module of tests that imports PyTorch where it is not installed."""
    report = yield
    if not TORCH and report.outcome == "failed" and "No module named 'torch" in str(report.longrepr):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, "Skipped: needs PyTorch")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Skip a test that ends in the advice to install PyTorch, where it is not installed."""
    report = yield
    # A page of examples prints why one failed.
    why = f"{report.longrepr}{report.capstdout}" if not TORCH and report.failed else ""
    if INSTALL in why or "No module named 'torch'" in why:
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, "Skipped: needs PyTorch")
    return report
