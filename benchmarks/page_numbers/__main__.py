"""`python -m benchmarks.page_numbers`: write the numbers of the pages of docs/ and of the paper's page."""

from benchmarks.page_numbers.pages import PAGES, written
from defero_verma2023.figures.published import paper_folder
from defero_verma2023.reproduction import rewrite_page

if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page), encoding="utf-8")
        print(f"wrote {page}")
    folder = paper_folder()
    if folder is not None:
        print(f"wrote {rewrite_page(out=folder / 'figures')}")
