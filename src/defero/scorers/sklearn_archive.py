"""What an archive of scikit-learn objects may hold: known types alone, and arrays whose bytes are there."""

import io
import json
import math
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from defero.core.errors import ModelFolderError
from defero.core.wording import join_names
from defero.scorers import PARTS

_SCHEMA = "schema.json"
_PROTOCOL = 2
_MOST_READS = 8
"""How often an array is read on average: skops names an array that several objects share once for each."""
_NUMBERS = {f"numpy.{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)} | {
    f"numpy.{name}" for name in ("float16", "float32", "float64", "bool", "str_")
}
# Estimators whose predictions read nothing but their arguments and attributes.
_OBJECTS = {
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogitLink MultinomialLogit",
    "sklearn._loss.loss": "ExponentialLoss HalfBinomialLoss HalfMultinomialLoss",
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.compose._column_transformer": "ColumnTransformer",
    "sklearn.decomposition._factor_analysis": "FactorAnalysis",
    "sklearn.decomposition._fastica": "FastICA",
    "sklearn.decomposition._incremental_pca": "IncrementalPCA",
    "sklearn.decomposition._pca": "PCA",
    "sklearn.decomposition._truncated_svd": "TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier",
    "sklearn.ensemble._bagging": "BaggingClassifier",
    "sklearn.ensemble._forest": "ExtraTreesClassifier RandomForestClassifier",
    "sklearn.ensemble._gb": "GradientBoostingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": "HistGradientBoostingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.ensemble._stacking": "StackingClassifier",
    "sklearn.ensemble._voting": "VotingClassifier",
    "sklearn.ensemble._weight_boosting": "AdaBoostClassifier",
    "sklearn.feature_selection._variance_threshold": "VarianceThreshold",
    "sklearn.frozen._frozen": "FrozenEstimator",
    "sklearn.impute._base": "MissingIndicator SimpleImputer",
    "sklearn.impute._knn": "KNNImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.linear_model._logistic": "LogisticRegression LogisticRegressionCV",
    "sklearn.linear_model._stochastic_gradient": "SGDClassifier",
    "sklearn.metrics._dist_metrics": "EuclideanDistance64 ManhattanDistance64 MinkowskiDistance64",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier _ConstantPredictor",
    "sklearn.naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._classification": "KNeighborsClassifier",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._multilayer_perceptron": "MLPClassifier",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing._data": "Binarizer MaxAbsScaler MinMaxScaler Normalizer PowerTransformer "
    "QuantileTransformer RobustScaler StandardScaler",
    "sklearn.preprocessing._discretization": "KBinsDiscretizer",
    "sklearn.preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
    "sklearn.preprocessing._function_transformer": "FunctionTransformer",
    "sklearn.preprocessing._label": "LabelBinarizer LabelEncoder",
    "sklearn.preprocessing._polynomial": "PolynomialFeatures",
    "sklearn.preprocessing._target_encoder": "TargetEncoder",
    "sklearn.svm._classes": "LinearSVC SVC",
    "sklearn.tree._classes": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier",
}
_ALLOWED = {
    "DTypeNode": {"numpy.dtype"},
    "DictNode": {"builtins.dict", "sklearn.utils._bunch.Bunch"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "LossNode": {f"sklearn._loss._loss.Cy{name}" for name in ("ExponentialLoss", "HalfBinomialLoss")}
    | {"sklearn._loss._loss.CyHalfMultinomialLoss"},
    "NdArrayNode": {"numpy.ndarray"} | _NUMBERS,
    "ObjectNode": {f"{module}.{name}" for module, names in _OBJECTS.items() for name in names.split()},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "SliceNode": {"builtins.slice"},
    "TreeNode": {"sklearn.tree._tree.Tree"},
    "TupleNode": {"builtins.tuple"},
    "TypeNode": {f"builtins.{name}" for name in ("str", "int", "float", "bool")} | _NUMBERS,
}
TRUSTED = frozenset().union(*_ALLOWED.values())
"""The types that skops is told to trust, once `checked_archive` has passed."""

State = dict[str, Any]


def foreign_types(content: bytes) -> list[str]:
    """Return the names of types in an archive that are not on the list, sorted."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return _foreign(_nodes(json.loads(archive.read(_SCHEMA))))


def checked_archive(content: bytes) -> bytes:
    """Return an archive that skops can read; raises where it would meet a foreign type or need endless memory.

    The ids by which skops shares objects are taken out: what is read is then what is written at that place, which was
    checked, and not another object of the same id.

    Parameters
    ----------
    content : bytes
        A zip file of schema.json and one .npy file for each array, none of them compressed.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if any(one.compress_type != zipfile.ZIP_STORED or one.file_size != one.compress_size for one in members):
            raise forged("it is compressed")
        if sum(one.file_size for one in members) > len(content) or len({one.filename for one in members}) < len(
            members
        ):
            raise forged("its members overlap")
        files = {one.filename: archive.read(one) for one in members}
    schema = json.loads(files.pop(_SCHEMA))
    shapes = {name: _array_shape(array) for name, array in files.items()}
    if schema.get("protocol") != _PROTOCOL:
        raise ModelFolderError(
            f"{PARTS}: written by skops {schema.get('_skops_version')!r:.20}, whose protocol is unknown; fit again."
        )
    nodes = list(_nodes(schema))
    untrusted = _foreign(nodes)
    if untrusted:
        raise ModelFolderError(f"{PARTS}: holds types that are not trusted: {join_names(untrusted)}; do not load it.")
    for node in nodes:
        node.pop("__id__", None)
        if node["__loader__"] == "TreeNode":
            _check_tree(node, shapes)
        elif node["__loader__"] == "RandomGeneratorNode" and _plain(node["content"]["seed_seq"], "pool_size") != 4:
            raise forged("a random generator's pool has another size than numpy's")
    if sum(len(files[node["file"]]) for node in nodes if "file" in node) > _MOST_READS * len(content):
        raise forged("its arrays are read again and again")
    return _zipped({_SCHEMA: json.dumps(schema).encode(), **files})


def _zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def _nodes(schema: Any) -> Iterator[State]:
    """Return every description of an object in a schema, at any depth."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "__class__" in one or "__loader__" in one:
                yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _foreign(nodes: Any) -> list[str]:
    return sorted({_type_name(node) for node in nodes if not _is_known(node)})


def _type_name(node: State) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _is_known(node: State) -> bool:
    loader, name = str(node.get("__loader__")), _type_name(node)
    if loader == "FunctionNode":  # numpy's elementwise functions, in a FunctionTransformer
        return node.get("__module__") == "numpy" and isinstance(getattr(np, str(node.get("__class__")), None), np.ufunc)
    return name in _ALLOWED.get(loader, ())


def _check_tree(node: State, shapes: dict[str, tuple[int, ...]]) -> None:
    """Raise unless the counts of a tree are those of its arrays: scikit-learn does not compare them."""
    n_classes, n_outputs = node["__reduce__"]["args"]["content"][1:3]
    state = node["content"]
    nodes = shapes[state["content"]["nodes"]["file"]]
    if shapes[n_classes["file"]] != (json.loads(n_outputs["content"]),) or nodes != (_plain(state, "node_count"),):
        raise forged("a tree counts more nodes or outputs than it has")


def _plain(state: State, key: str) -> Any:
    """Return the plain value under a key of a dictionary's description."""
    return json.loads(state["content"][key]["content"])


def _array_shape(content: bytes) -> tuple[int, ...]:
    """Return the shape of an array in a .npy file; raises unless its bytes are there, and are no objects."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, _, dtype = read_header(stream)
    n_bytes = len(content) - stream.tell()
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != n_bytes or max(shape, default=0) > len(content):
        raise forged(f"an array of shape {shape} and type {dtype} has {n_bytes} bytes")
    return tuple(shape)


def forged(why: str) -> ModelFolderError:
    """Return the error for an archive that defero cannot have written."""
    return ModelFolderError(f"{PARTS}: was not written by defero ({why}); do not load it.")
