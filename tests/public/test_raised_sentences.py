"""Every error that a user can cause names what is wrong and says what is expected or what to do."""

import ast
import re
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "defero"
ERRORS = {"InputError", "TableError", "ModelFolderError", "BadRowsError", "NoRowsError", "TrainingError"}
HOLE = "\N{REPLACEMENT CHARACTER}"
"""Stands for what is filled in when the error is raised."""
PLACE = re.compile(rf"^({HOLE}|[\w./-]+\.[a-z]+\b)")
"""The beginning of a sentence that names a file, a table or a column."""
TO_DO = re.compile(r"; |: (call|fit|install)|\bneeds?\b|\bmust\b")
"""What a sentence says that is about the order of calls, a package or several arguments, and names no single one."""
WANTED = re.compile(r"must|expected|needs?\b|takes|exclude|cannot|allows|is for|is too small|pass |name |;|: ")
PLAIN = {
    "a mixture of experts' weights are no probabilities and cannot be calibrated.",
    "a mixture of experts' weights are no probabilities: it cannot compare costs.",
    "a mixture of experts' weights are no probabilities: it cannot be conformalized.",
    f"save: two arrays would be called {HOLE}.",
    f"save: {HOLE} {HOLE}",
    "no case could be deferred to anybody: there is no curve to draw.",
    "corrects marks of 0 or 1, and some scores lie between.",
    "is no URL of a database.",
    "the networks' outputs are in our form of CIFAR-10H alone (cifar10h/cifar10h.npz).",
    f"loss {HOLE} counts answers that were not given: its values change with `correct` where `observed` is False. Set "
    "their terms to 0, as with values.masked_fill(~observed, 0.0).",
    f"loss {HOLE} failed on a small batch (class_logits {HOLE}, expert_logits {HOLE}, labels {HOLE}, "
    f"correct {HOLE}{HOLE}{HOLE}): {HOLE}: {HOLE}",
    f"expected {HOLE} class and {HOLE} expert columns, got {HOLE} and {HOLE}.",
    f"{HOLE} has {HOLE} features, but fit saw {HOLE}.",
    f"a model folder has no file {HOLE}; known are {HOLE}.",
    f"{HOLE}, got {HOLE}{HOLE}{HOLE}.",
    f"{HOLE}, as a tensor, got {HOLE}.",
    f"{HOLE}, as float numbers, got {HOLE}.",
    f"{HOLE} The log says that {HOLE} decides.",
}
"""Sentences that are clear without: the thing cannot be done at all, or the hole says what is expected."""


def written(node):
    """Return a piece of a sentence, with a hole for whatever is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(written, node.values))
    if isinstance(node, ast.BinOp):
        return written(node.left) + written(node.right)
    return HOLE


def raised(code):
    """Return (line, whether an argument is named, sentence) of every error that is built in a source."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ERRORS and node.args:
            pieces = {
                ast.unparse(one.func) for text in node.args for one in ast.walk(text) if isinstance(one, ast.Call)
            }
            named = "Argument" in pieces or any(keyword.arg == "argument" for keyword in node.keywords)
            yield node.lineno, named, "".join(map(written, node.args))


def faults(named, sentence):
    """Return what is missing in a sentence; one that is passed on as it is was written elsewhere."""
    if not sentence.strip(f"{HOLE} :.") or sentence in PLAIN:
        return []
    checks = {
        "names no argument, file or next call": named or PLACE.search(sentence) or TO_DO.search(sentence),
        "does not say what is expected or what to do": WANTED.search(sentence),
        "does not end like a sentence": sentence.endswith((".", "?", HOLE, f"({HOLE})")),
    }
    return [fault for fault, fine in checks.items() if not fine]


def test_every_error_names_what_is_wrong_and_says_what_to_do():
    sources = {path.relative_to(SOURCES): path.read_text(encoding="utf-8") for path in sorted(SOURCES.rglob("*.py"))}
    found = {path: list(raised(code)) for path, code in sources.items()}
    wrong = [
        f"{path}:{line} {fault}: {sentence}"
        for path, errors in found.items()
        for line, named, sentence in errors
        for fault in faults(named, sentence)
    ]
    assert wrong == []
    assert sum(map(len, found.values())) > 500


def test_what_a_sentence_lacks_is_seen():
    code = 'raise InputError("is wrong", argument="alpha")\nraise InputError(f"alpha {value} is wrong.")'
    (_, *first), (_, *second) = raised(code)
    assert faults(*first) == ["does not say what is expected or what to do", "does not end like a sentence"]
    assert faults(*second) == ["names no argument, file or next call", "does not say what is expected or what to do"]
    assert faults(True, "must lie in (0, 1), got 2.") == []


def test_no_module_defines_a_name_twice():
    """Where files become one, the second of two constants silently wins everywhere."""
    twice = []
    for path in sorted(SOURCES.rglob("*.py")):
        names = [
            target.id
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign)
        ]
        twice += [f"{path.relative_to(SOURCES)}: {name}" for name in set(names) if names.count(name) > 1]
    assert twice == []
