"""The page of a pool's evaluation: one file to pass on."""

from datetime import datetime
from pathlib import Path

from defero.data.model_folder import library_versions
from defero.data.recipes.columns import CategoricalColumn
from defero.data.tables.cells import texts
from defero.data.tables.write import write_whole
from defero.pools.router import PoolRouter
from defero.study.pools.pool_evaluation import PoolEvaluation


def write_pool_page(evaluation: PoolEvaluation, router: PoolRouter, out: Path, *, command: str) -> None:
    """Write the page, whole or not at all."""
    from defero.report.pool_page import pool_page

    columns = () if router.recipe is None else router.recipe.columns
    kinds = {
        column.name: [cell or "blank" for cell in texts(evaluation.cases.frame[column.name])]
        for column in columns
        if isinstance(column, CategoricalColumn)
    }
    facts = {
        "Model": evaluation.model,
        "Table": f"{evaluation.table}, {evaluation.rows:,} rows with scores, {evaluation.seen_by_fit:,} of them "
        "left out as the pool was fitted on them",
        "Learner": str(router.facts.get("learner", "")),
        "Made": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        "Versions": ", ".join(f"{name} {version}" for name, version in library_versions().items()),
        "Command": command,
    }
    page = pool_page(evaluation.record, kinds, facts, notes=evaluation.notes)
    write_whole(out, page.encode("utf-8"))
