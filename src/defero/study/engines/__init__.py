"""Where work runs: this process, a pool of processes, or a Ray cluster. The only room that knows Ray.

An engine applies one function to many tasks. What it returns does not depend on the engine, the number of workers or
the order in which the tasks end.
"""

from defero.study.engines.engine import ENGINES, Engine, engine_by_name, named_engine

__all__ = ["ENGINES", "Engine", "engine_by_name", "named_engine"]
