"""PictureRecipe: a table's column of paths as pictures of one size; what `FeatureRecipe` is for other columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from defero.core.errors import InputError, TableError
from defero.data.recipes.pictures import PictureFiles
from defero.data.tables.cells import is_blank
from defero.data.tables.columns import column_names, no_such_column, row_number


@dataclass(frozen=True)
class PictureRecipe:
    """Which column holds the paths, and how large the pictures are made.

    Attributes
    ----------
    column : str
    size : (height, width)
    folder : Path
        Where relative paths start; not part of a saved model.

    Examples
    --------
    >>> import pandas as pd
    >>> recipe = PictureRecipe("file", (8, 8)).inside(Path("scans"))
    >>> recipe.apply(pd.DataFrame({"file": ["a.png"]})).paths
    ('scans/a.png',)
    """

    column: str
    size: tuple[int, int]
    folder: Path = field(default=Path(), compare=False)

    columns: ClassVar[tuple[Any, ...]] = ()
    text: ClassVar[tuple[str, ...]] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the raw columns in use."""
        return (self.column,)

    categorical = inputs

    def inside(self, folder: Path) -> "PictureRecipe":
        """Return the recipe for paths that start in a folder."""
        return replace(self, folder=folder)

    def apply(self, frame: Any, *, source: str = "table", first_row: int = 0) -> PictureFiles:
        """Return the rows' pictures, none of them read yet."""
        keys = column_names(frame, source=source)
        if self.column not in keys:
            raise no_such_column(self.column, list(keys), source=source, role="the pictures")
        cells = frame[keys[self.column]].tolist()
        rows = [row_number(frame, place, first_row=first_row) for place in range(len(cells))]
        for row, cell in zip(rows, cells, strict=True):
            if is_blank(cell):
                where = f"{source}: row {row}, column {self.column}"
                raise TableError(f"{where}: expected the path of a picture, got a blank cell.")
        return PictureFiles([self.folder / str(cell) for cell in cells], self.size, source, rows)

    def extra(self, frame: Any) -> tuple[str, ...]:
        """Return the frame's other columns; they are ignored."""
        return tuple(str(name) for name in frame.columns if str(name) != self.column)

    def remarks(self, frame: Any) -> dict[str, int]:
        """Return nothing: a picture that cannot be read is an error."""
        return {}

    def describe(self) -> list[str]:
        """Return one sentence: how the column is used.

        >>> PictureRecipe("file", (32, 48)).describe()
        ['file: pictures, each made 32 pixels high and 48 wide.']
        """
        height, width = self.size
        return [f"{self.column}: pictures, each made {height} pixels high and {width} wide."]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"pictures": self.column, "size": list(self.size)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "PictureRecipe":
        """Rebuild what `to_dict` gave."""
        try:
            height, width = values["size"]
            return cls(str(values["pictures"]), (int(height), int(width)))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the picture recipe is damaged: {type(error).__name__} {error}.") from error
