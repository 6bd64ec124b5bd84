"""Data to learn from: WEDGE, whose best accuracy is known exactly, digits with simulated experts, public data sets."""

import importlib
from typing import TYPE_CHECKING, Any

from defero.datasets.wedge import Wedge, wedge
from defero.datasets.wedge_truth import WedgeOptimum
from defero.datasets.wedge_truth import bayes_accuracy as wedge_bayes_accuracy
from defero.datasets.wedge_truth import bayes_coverage as wedge_coverage
from defero.datasets.wedge_truth import classifier_accuracy as wedge_classifier_accuracy
from defero.datasets.wedge_truth import expert_accuracy as wedge_expert_accuracy
from defero.datasets.wedge_truth import with_budget as wedge_with_budget
from defero.datasets.wedge_truth import with_fees as wedge_with_fees

if TYPE_CHECKING:
    from defero.datasets.catalog.get import get_dataset
    from defero.datasets.catalog.registry import dataset_names, find_dataset, load_dataset
    from defero.datasets.digits import digits_team
    from defero.datasets.loaders.chexpert import chexpert_readers, chexpert_tables
    from defero.datasets.loaders.cifar10_people import cifar10h, cifar10h_networks, cifar10n
    from defero.datasets.loaders.cifar10_pictures import cifar10
    from defero.datasets.loaders.galaxies import galaxyzoo
    from defero.datasets.loaders.labelme import labelme_crowd
    from defero.datasets.loaders.lewidi import lewidi_hs_brexit, lewidi_md_agreement
    from defero.datasets.loaders.llm_routing import llm_routing_7, llm_routing_9
    from defero.datasets.loaders.skin_lesions import ham10000, ham10000_metadata
    from defero.datasets.loaders.text_crowds import keswani_toxicity, sentiment_polarity_crowd
    from defero.datasets.loaders.tweets import hatespeech
    from defero.datasets.loaders.verma2023 import verma2023_outputs
    from defero.datasets.values import AgreementSet, CorrectnessTable, ImageSet, VoteSet

# pandas, scikit-learn and the registry load when one of these is asked for. No loader is named like a file: once
# that file is imported, Python would give out the module under the name.
_HOMES = {
    "AgreementSet": "values",
    "CorrectnessTable": "values",
    "ImageSet": "values",
    "VoteSet": "values",
    "chexpert_readers": "loaders.chexpert",
    "chexpert_tables": "loaders.chexpert",
    "cifar10": "loaders.cifar10_pictures",
    "cifar10h": "loaders.cifar10_people",
    "cifar10h_networks": "loaders.cifar10_people",
    "cifar10n": "loaders.cifar10_people",
    "dataset_names": "catalog.registry",
    "digits_team": "digits",
    "find_dataset": "catalog.registry",
    "galaxyzoo": "loaders.galaxies",
    "get_dataset": "catalog.get",
    "ham10000": "loaders.skin_lesions",
    "ham10000_metadata": "loaders.skin_lesions",
    "hatespeech": "loaders.tweets",
    "keswani_toxicity": "loaders.text_crowds",
    "labelme_crowd": "loaders.labelme",
    "lewidi_hs_brexit": "loaders.lewidi",
    "lewidi_md_agreement": "loaders.lewidi",
    "llm_routing_7": "loaders.llm_routing",
    "llm_routing_9": "loaders.llm_routing",
    "load_dataset": "catalog.registry",
    "sentiment_polarity_crowd": "loaders.text_crowds",
    "verma2023_outputs": "loaders.verma2023",
}

__all__ = [
    "AgreementSet",
    "CorrectnessTable",
    "ImageSet",
    "VoteSet",
    "Wedge",
    "WedgeOptimum",
    "chexpert_readers",
    "chexpert_tables",
    "cifar10",
    "cifar10h",
    "cifar10h_networks",
    "cifar10n",
    "dataset_names",
    "digits_team",
    "find_dataset",
    "galaxyzoo",
    "get_dataset",
    "ham10000",
    "ham10000_metadata",
    "hatespeech",
    "keswani_toxicity",
    "labelme_crowd",
    "lewidi_hs_brexit",
    "lewidi_md_agreement",
    "llm_routing_7",
    "llm_routing_9",
    "load_dataset",
    "sentiment_polarity_crowd",
    "verma2023_outputs",
    "wedge",
    "wedge_bayes_accuracy",
    "wedge_classifier_accuracy",
    "wedge_coverage",
    "wedge_expert_accuracy",
    "wedge_with_budget",
    "wedge_with_fees",
]


def __getattr__(name: str) -> Any:
    """Load a name's module when it is asked for."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"defero.datasets.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'defero.datasets' has no attribute {name!r}")
