"""scikit-learn objects on disk without pickle: skops, with an allow-list of types."""

from pathlib import Path
from typing import Any

from skops import io as skops_io

from defero.core.errors import ModelFolderError

PARTS = "parts.skops"
# Beyond what skops trusts by itself: types of scikit-learn's own, named one by one. None of them runs code when it is
# read. A forged tree or neighbour index can still crash the process: load models from people you trust.
ALLOWED = frozenset(
    {
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn._loss._loss.CyHalfBinomialLoss",
        "sklearn._loss._loss.CyHalfMultinomialLoss",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
        "sklearn.frozen._frozen.FrozenEstimator",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.preprocessing._function_transformer.FunctionTransformer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
    }
)


def write_parts(folder: Path, parts: dict[str, Any]) -> None:
    """Write fitted parts; raises naming a type that a reader would not trust."""
    target = folder / PARTS
    skops_io.dump(parts, target)
    strangers = sorted(set(skops_io.get_untrusted_types(file=target)) - ALLOWED)
    if strangers:
        target.unlink()
        raise ModelFolderError(
            f"save: {', '.join(strangers)} cannot be saved, because loading it could run any code; "
            "use scikit-learn's own linear models, trees, forests or boosting, or keep the fitted object in memory."
        )


def read_parts(folder: Path) -> dict[str, Any]:
    """Read fitted parts, trusting scikit-learn's own types and nothing else."""
    source = folder / PARTS
    try:
        strangers = sorted(set(skops_io.get_untrusted_types(file=source)) - ALLOWED)
        if not strangers:
            parts: dict[str, Any] = skops_io.load(source, trusted=sorted(ALLOWED))
            return parts
    except Exception as error:  # a damaged archive raises whatever its reader met first
        raise ModelFolderError(
            f"{source}: the parts cannot be read ({type(error).__name__}: {error}); "
            "the model folder is damaged, fit again or restore it."
        ) from error
    raise ModelFolderError(f"{source}: holds types that are not trusted: {', '.join(strangers)}; do not load it.")
