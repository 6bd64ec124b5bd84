"""A Label Studio export as it is documented: cancelled, repeated, drafted and true annotations, and predictions."""

import gzip
import json


def choice(*answers, control="mood", to_name="text", kind="choices"):
    value = answers[0] if kind == "rating" else list(answers)
    return {"id": "Dx_aB91", "from_name": control, "to_name": to_name, "type": kind, "value": {kind: value}}


def annotation(who, *answers, **fields):
    return {
        "id": 1001,
        "completed_by": who,
        "result": [choice(*answers)] if answers else [],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2024-05-01T09:00:00.000000Z",
        "updated_at": "2024-05-01T09:00:00.000000Z",
        "lead_time": 4.5,
        **fields,
    }


def prediction(version, answer, **fields):
    return {"model_version": version, "score": 0.9, "result": [choice(answer)], **fields}


ANN = {"id": 3, "email": "ann@example.org", "first_name": "Ann", "last_name": "A"}
TASKS = [
    {
        "id": 11,
        "project": 83,
        "data": {"text": "a fine film", "stars": 4, "words": ["a", "fine", "film"], "gold": "good"},
        "annotations": [
            annotation(ANN, "good", lead_time=2.0),
            annotation(7, "bad", updated_at="2024-05-02T10:00:00Z", lead_time=9.0),
            annotation(7, "good", updated_at="2024-05-02T09:00:00Z"),
            annotation(8, "bad", was_cancelled=True),
        ],
        "drafts": [annotation(9, "bad")],
        "predictions": [prediction("v1", "bad")],
    },
    {
        "id": 12,
        "data": {"text": "dull", "stars": 1, "words": [], "gold": "bad"},
        "annotations": [
            annotation(3, "bad", lead_time=4.0),
            annotation(7, "good", ground_truth=True),
            annotation(7, "bad"),
        ],
        "predictions": [prediction("v1", "bad"), prediction(None, "good")],
    },
    {"id": 13, "data": {"text": "not seen", "stars": None}, "annotations": [], "predictions": []},
    {"id": 14, "data": {"text": "empty", "stars": 2.5}, "annotations": [annotation(8), annotation(3, "good")]},
]


def write_export(folder, tasks=TASKS, name="export.json"):
    """Write tasks as JSON, or as lines of JSON, by the name's ending."""
    path = folder / name
    text = json.dumps(tasks) if ".jsonl" not in name else "".join(json.dumps(task) + "\n\n" for task in tasks)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def answers(found):
    return found.answers.to_frame().astype(object).where(lambda cells: cells.notna(), None).to_dict("list")
