"""A log of answers in a file, joined to items as `read_cases` does."""

from defero.data.answers.read_log import join_answers, long_columns
from defero.data.tables.read import first_row, read_chunks, read_frame


def read_long(path, items, **options):
    names = {"item": None, "annotator": None, "answer": None} | options
    unknown = names.pop("unknown", "error")
    columns = long_columns(next(iter(read_chunks(path, rows=1))), **names, source=str(path))
    frame = read_frame(path, as_text=[columns.item, columns.annotator, columns.answer])
    where = {"source": str(path), "first_row": first_row(path), "unknown": unknown}
    return join_answers(items, frame, **vars(columns), **where)
