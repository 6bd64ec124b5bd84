"""The description of the API has an example of every operation, and each is what the API does."""

import json

import pytest
from example_run import FILE, run_all

from defero.service.access import ALLOWED, OPEN, WITH_SECRET
from defero.service.web.app import make_app


@pytest.fixture(scope="module")
def made():
    return run_all()


def shape(value):
    """Return the members of a reply without its values."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(one) for one in value] if isinstance(value, list) else None


def test_every_operation_was_done_and_replied_as_its_example(made):
    known = json.loads(FILE.read_text())
    assert set(made) == set(known) == (set(ALLOWED) | set(WITH_SECRET) | OPEN) - {"GET /openapi.json"}
    for route, example in known.items():
        assert shape(made[route]["reply"]) == shape(example["reply"]), route
        assert made[route].get("body") == example.get("body"), route


def test_the_description_shows_them_with_an_example_of_every_parameter(office):
    for path, operations in make_app(office).openapi()["paths"].items():
        for method, operation in operations.items():
            bodies = list(operation.get("requestBody", {}).get("content", {}).values())
            replies = [
                media
                for status, reply in operation["responses"].items()
                if status.startswith("2")
                for media in reply["content"].values()
            ]
            assert replies, (method, path)
            assert all("example" in media for media in bodies + replies), (method, path)
            for one in operation.get("parameters", []):
                schema = one["schema"]
                assert "examples" in schema or "default" in schema or "examples" in one, (method, path, one["name"])


def test_no_example_has_a_secret():
    text = FILE.read_text()
    assert '"token": "defero_..."' in text
    assert '"secret": "..."' in text
