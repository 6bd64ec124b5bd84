"""`python -m benchmarks.page_numbers`: write the numbers of docs/losses.md and docs/people.md from the results."""

from benchmarks.page_numbers.pages import PAGES, written

if __name__ == "__main__":
    for page in PAGES:
        text = written(page)
        page.write_text(text, encoding="utf-8")
        print(f"wrote {page}")
