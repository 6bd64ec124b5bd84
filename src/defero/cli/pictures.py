"""Cases that are pictures: a folder of files, and a table that names them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from defero.data.case_file import Cases
    from defero.data.fingerprint import HashArray
    from defero.data.recipes.picture_recipe import PictureRecipe
    from defero.estimators.recipe import Recipe
    from defero.router import Router

Images = Annotated[
    Path | None, typer.Option(help="Where relative paths of pictures start. Default: the folder of the table.")
]
TableOption = Annotated[
    Path | None, typer.Option("--table", help="The table of the cases, where TABLE is a folder of pictures.")
]
ImageColumn = Annotated[
    str | None, typer.Option(help="The column with the paths of pictures, as they stand in the folder.")
]
ImageSize = Annotated[
    str | None,
    typer.Option(help="Pixels, 32 or 32x48 (height x width). Default: the first picture's, at most 224x224."),
]
Epochs = Annotated[int | None, typer.Option(help="Most passes of a deep net over the cases. Default: 30.", min=1)]
BatchSize = Annotated[
    int | None, typer.Option(help="Cases in a step of a deep net; halve it if memory is short.", min=1)
]
LearningRate = Annotated[float | None, typer.Option(help="The largest step of a deep net's weights.", min=0)]
Branches = Annotated[str, typer.Option(help="one or two: do a deep net's experts share the trunk of the classes?")]
Augmentation = Annotated[
    str, typer.Option(help="crop-and-flip, crop or none: what is done to pictures while a deep net learns.")
]
Checkpoints = Annotated[
    Path | None, typer.Option(help="A folder for a deep net's checkpoint: the same call goes on from there.")
]
AsOnnx = Annotated[bool, typer.Option("--onnx", help="Save a deep net as ONNX, which route runs without torch.")]

_AUGMENTATIONS = ("crop-and-flip", "crop", "none")


@dataclass(frozen=True)
class Deep:
    """What `fit` was told for a deep net alone; the names are those of `DeferralClassifier`."""

    max_epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    branches: str = "one"
    augmentation: str = "crop-and-flip"
    checkpoints: str | None = None

    @classmethod
    def of(
        cls,
        *,
        epochs: int | None,
        batch_size: int | None,
        learning_rate: float | None,
        branches: str,
        augmentation: str,
        checkpoints: Path | None,
    ) -> "Deep":
        """Check what a command line said."""
        from defero.core.errors import InputError
        from defero.core.wording import join_names

        if branches not in ("one", "two"):
            raise InputError(f"--branches must be one or two, got {branches!r}.")
        if augmentation not in _AUGMENTATIONS:
            raise InputError(f"--augmentation must be one of {join_names(_AUGMENTATIONS)}, got {augmentation!r}.")
        folder = None if checkpoints is None else str(checkpoints)
        return cls(epochs, batch_size, learning_rate, branches, augmentation, folder)

    def recipe(self) -> "Recipe":
        """Return what `DeferralClassifier` takes."""
        from defero.estimators.recipe import Recipe

        return Recipe(
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            branches=self.branches,
            augmentation=self.augmentation,
        )


def looks_deep(net: str) -> bool:
    """Tell a deep net's name from others without loading torch.

    >>> looks_deep("wrn-28-4"), looks_deep("timm:convnext_tiny"), looks_deep("mlp")
    (True, True, False)
    """
    return "-" in net or ":" in net


def check_picture_options(
    table: Path,
    *,
    listed_in: Path | None,
    column: str | None,
    size: str | None,
    net: str,
    features: str | None,
    text: list[str] | None,
) -> None:
    """Refuse options that do not go together, before anything is read."""
    from defero.core.errors import InputError

    if column is None:
        for option, given in (("--table", listed_in), ("--image-size", size)):
            if given is not None:
                raise InputError(f"{option} {given}: is for pictures; name the column of their paths: --image-column.")
        if table.is_dir():
            raise InputError(f"{table}: is a folder; of pictures pass --table and --image-column too.")
        if net.startswith(("wrn-", "resnet-", "efficientnet-")):
            raise InputError(f"--net {net}: reads pictures; pass their folder, --table FILE and --image-column COLUMN.")
        return
    if listed_in is None or not table.is_dir():
        raise InputError(
            f"--image-column {column}: expected the folder of the pictures and --table FILE, got {table}; "
            f"defero fit IMAGES --table cases.csv --image-column {column} ..."
        )
    if net in ("auto", "linear", "mlp", "text-cnn"):
        raise InputError(f"--net {net}: reads no pictures; name a net that does, such as wrn-28-4 or resnet-18.")
    if features is not None or text:
        raise InputError("--image-column: a deep net reads the pictures alone; leave --features and --text out.")


def picture_recipe(folder: Path, cases: "Cases", *, column: str, size: str | None, source: str) -> "PictureRecipe":
    """Return how the cases' pictures are read, after every one of them has been read once."""
    from defero.data.recipes.picture_recipe import PictureRecipe
    from defero.data.recipes.pictures import usual_size

    features = cases.table.features
    unsized = PictureRecipe(column, (1, 1)).inside(folder)
    files = unsized.apply(features, source=source, first_row=cases.first_row)
    files.take(slice(0, 1)).check()
    recipe = replace(unsized, size=usual_size(files.paths[0]) if size is None else _size(size))
    recipe.apply(features, source=source, first_row=cases.first_row).check()
    return recipe


def with_folder(router: "Router", images: Path | None, table: Path) -> "Router":
    """Return the router with the folder in which the paths of a table's pictures start."""
    from defero.core.errors import InputError
    from defero.data.recipes.picture_recipe import PictureRecipe

    if isinstance(router.recipe, PictureRecipe):
        return replace(router, recipe=router.recipe.inside(table.parent if images is None else images))
    if images is not None:
        raise InputError(f"--images {images}: this model reads no pictures; leave it out.")
    return router


def marks_of_rows(router: "Router", features: "pd.DataFrame", *, source: str, first_row: int) -> "HashArray":
    """Return one fingerprint per row, (n,), as the model keeps them of the rows that it saw."""
    from defero.data.fingerprint import row_fingerprints
    from defero.data.recipes.picture_recipe import PictureRecipe

    if isinstance(router.recipe, PictureRecipe):
        return row_fingerprints(router.recipe.apply(features, source=source, first_row=first_row).identities())
    return row_fingerprints(features)


def in_onnx(router: "Router") -> "Router":
    """Return the router with its deep net as an ONNX file."""
    from defero.estimators.onnx_form import as_onnx

    return replace(router, scorer=as_onnx(router.scorer))


def _size(given: str) -> tuple[int, int]:
    """Read a size.

    >>> _size("32"), _size("32x48")
    ((32, 32), (32, 48))
    """
    from defero.core.errors import InputError

    sides = given.lower().split("x")
    if len(sides) > 2 or not all(side.isascii() and side.isdigit() and 0 < int(side) <= 4096 for side in sides):
        raise InputError(f"--image-size must be pixels, such as 32 or 32x48 (height x width), got {given!r}.")
    numbers: list[Any] = [int(side) for side in sides]
    return numbers[0], numbers[-1]
