"""Data to learn from: WEDGE, whose best accuracy is known exactly, digits with simulated experts, public data sets."""

from defero.core.splits.split import split_groups, split_rows
from defero.datasets.catalog import (
    DataFile,
    Dataset,
    dataset_names,
    find_dataset,
    load_dataset,
    register_dataset,
)
from defero.datasets.digits import digits_team
from defero.datasets.files import check_files, get_dataset
from defero.datasets.loaders.chexpert import chexpert_readers, chexpert_tables
from defero.datasets.loaders.cifar10 import cifar10
from defero.datasets.loaders.cifar10_people import cifar10h, cifar10h_networks, cifar10n
from defero.datasets.loaders.credit_default import (
    SimulatedCases,
    credit_default,
    credit_default_cases,
    credit_default_clients,
)
from defero.datasets.loaders.galaxyzoo import galaxyzoo
from defero.datasets.loaders.ham10000 import HAM10000_CLASSES, ham10000, ham10000_metadata
from defero.datasets.loaders.hatespeech import hatespeech
from defero.datasets.loaders.labelme import labelme_crowd
from defero.datasets.loaders.lewidi import lewidi_hs_brexit, lewidi_md_agreement
from defero.datasets.loaders.llm_routing import llm_routing_7, llm_routing_9
from defero.datasets.loaders.recidivism import recidivism_people
from defero.datasets.loaders.text_crowds import keswani_toxicity, sentiment_polarity_crowd
from defero.datasets.storage.cache import data_folder
from defero.datasets.values import AgreementSet, CorrectnessTable, ImageSet, VoteSet
from defero.datasets.wedge import Wedge, wedge
from defero.datasets.wedge_truth import WedgeOptimum
from defero.datasets.wedge_truth import bayes_accuracy as wedge_bayes_accuracy
from defero.datasets.wedge_truth import bayes_coverage as wedge_coverage
from defero.datasets.wedge_truth import classifier_accuracy as wedge_classifier_accuracy
from defero.datasets.wedge_truth import expert_accuracy as wedge_expert_accuracy
from defero.datasets.wedge_truth import with_budget as wedge_with_budget
from defero.datasets.wedge_truth import with_fees as wedge_with_fees

__all__ = [
    "HAM10000_CLASSES",
    "AgreementSet",
    "CorrectnessTable",
    "DataFile",
    "Dataset",
    "ImageSet",
    "SimulatedCases",
    "VoteSet",
    "Wedge",
    "WedgeOptimum",
    "check_files",
    "chexpert_readers",
    "chexpert_tables",
    "cifar10",
    "cifar10h",
    "cifar10h_networks",
    "cifar10n",
    "credit_default",
    "credit_default_cases",
    "credit_default_clients",
    "data_folder",
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
    "recidivism_people",
    "register_dataset",
    "sentiment_polarity_crowd",
    "split_groups",
    "split_rows",
    "wedge",
    "wedge_bayes_accuracy",
    "wedge_classifier_accuracy",
    "wedge_coverage",
    "wedge_expert_accuracy",
    "wedge_with_budget",
    "wedge_with_fees",
]
