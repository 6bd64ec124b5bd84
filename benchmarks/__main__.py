"""`make bench`: run every benchmark, print the figures, and keep them in benchmarks/results/."""

import json
import platform
import sys
from pathlib import Path

from benchmarks import (
    calibration,
    experts,
    few_answers,
    large_files,
    losses,
    million_rows,
    new_expert,
    panels,
    plane,
    pool_speed,
    reproduction,
    routing,
    service_load,
    start_up,
    table_speed,
    text_crowds,
    text_encoders,
)
from defero.data.model_folder import library_versions

BENCHMARKS = {
    "calibration": calibration,
    "experts": experts,
    "few_answers": few_answers,
    "large_files": large_files,
    "losses": losses,
    "million_rows": million_rows,
    "new_expert": new_expert,
    "panels": panels,
    "plane": plane,
    "pool_speed": pool_speed,
    "reproduction": reproduction,
    "routing": routing,
    "service_load": service_load,
    "start_up": start_up,
    "table_speed": table_speed,
    "text_crowds": text_crowds,
    "text_encoders": text_encoders,
}
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    for name in sys.argv[1:] or BENCHMARKS:
        figures = BENCHMARKS[name].run()
        facts = {
            "command": f"make bench  # {name}",
            "unit": "CPU seconds, one thread, best of five, where a figure names no other",
            "machine": platform.machine(),
            "versions": library_versions(),
            "figures": figures,
        }
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
        print(f"{name}:")
        for what, figure in figures.items():
            print(f"  {what}: {figure}")


if __name__ == "__main__":  # processes that are started beside import this file too
    main()
