"""Tables with simulated experts, whose law is known: credit-default, digits, WEDGE."""

from functools import partial

from benchmarks.field.problem import FieldSet
from benchmarks.tables.sets.classics import draw_digits, draw_wedge
from benchmarks.tables.sets.credit import draw as draw_credit

SETS = (
    FieldSet(
        "credit-ring",
        partial(draw_credit, "ring", 12, 0.3),
        "credit-default, 12 experts of the law ring, each answered 30 % of the rows; all can be asked in the test.",
        "table",
        fresh=True,
    ),
    FieldSet(
        "credit-product",
        partial(draw_credit, "product", 25, 0.1),
        "credit-default, 25 experts of the law product, each answered 10 % of the rows.",
        "table",
        fresh=True,
    ),
    FieldSet("digits", draw_digits, "Digits, ten simulated specialists of two digits each.", "table"),
    FieldSet(
        "wedge",
        draw_wedge,
        "WEDGE: four classes, four specialists, drawn anew for each split.",
        "simulated",
        fresh=True,
    ),
)
