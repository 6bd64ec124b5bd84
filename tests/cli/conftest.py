"""Pages of the commands are written without what their pictures show, but where they are looked at."""

import pytest

LOOKED_AT = ("test_cli_report.py", "test_cli_pools.py")


@pytest.fixture(autouse=True)
def text_of_pages(request):
    if request.path.name not in LOOKED_AT:
        request.getfixturevalue("empty_pictures")
