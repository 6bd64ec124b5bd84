"""The ledger of GPU time: read, added up, and refused where it cannot be read."""

import pytest

from defero.core.errors import InputError
from defero.papers.verma2023.claims import Kept
from defero.papers.verma2023.gpu_ledger import ALLOWED, LEDGER, Sitting, held_in_words, read_ledger
from defero.papers.verma2023.published import paper_folder
from defero.papers.verma2023.readme_page import Links, readme_page


def test_a_ledger_is_read_and_told(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text('minutes,what\n2.5,"trials, and more"\n3,runs\n')
    ledger = read_ledger(path)
    assert ledger == (Sitting(2.5, "trials, and more"), Sitting(3.0, "runs"))
    page = " ".join(readme_page(Kept(ledger=ledger), (), Links("errata", "sets", ())).split())
    assert "held for 6 minutes in all, of the 150 that we allow ourselves: 2 for trials, and more; 3 for runs." in page


def test_without_a_file_no_gpu_was_held(tmp_path):
    assert read_ledger(tmp_path / "none.csv") == ()
    assert held_in_words(()) == "No GPU was held."


@pytest.mark.parametrize("text", ["minutes,why\n2,runs\n", "minutes,what\nlong,runs\n", "minutes,what\n2\n"])
def test_an_unreadable_ledger_is_named(tmp_path, text):
    path = tmp_path / "ledger.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"ledger\.csv must have the columns minutes"):
        read_ledger(path)


def test_we_stay_within_what_we_allow_ourselves():
    home = paper_folder()
    if home is None:
        pytest.skip("the paper's folder is not beside this installation")
    ledger = read_ledger(home / "results" / LEDGER)
    assert 0 < sum(sitting.minutes for sitting in ledger) <= ALLOWED
