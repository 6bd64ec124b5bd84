"""Public names that load their modules when they are first used, so that importing a package stays light.

The names of a package stand once, in its `__init__.pyi`, which type checkers and editors read as well.
"""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def attach_stub(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`, as its `__init__.pyi` lists them.

    Modules of the package itself are loaded as attributes too, but are not in `__all__`.

    Parameters
    ----------
    package, file : str
        `__name__` and `__file__` of the package.

    Examples
    --------
    >>> import defero.simulate
    >>> load, names, public = attach_stub("defero.simulate", defero.simulate.__file__)
    >>> "specialist" in public, load("specialist") is defero.simulate.specialist
    (True, True)
    """
    homes: dict[str, tuple[str, str]] = {}
    public: list[str] = []
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            homes |= {alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            public.append(node.target.id)
    public += [name for name, (module, _) in homes.items() if module != package]

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, own_name = homes[name]
        if module == package:
            return import_module(f"{package}.{name}")
        try:
            return getattr(import_module(module), own_name)
        except ModuleNotFoundError as error:
            if error.name == "torch":
                raise ImportError(f"{name} needs PyTorch: pip install 'defero[train]'.") from error
            raise

    return load, lambda: sorted({*public, *homes}), sorted(public)
