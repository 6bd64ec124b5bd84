"""Machines among the experts: chest film readers, language models, and stored outputs of deferral networks."""

from defero.datasets.catalog.entry import DataFile, Dataset

_GITHUB = "https://raw.githubusercontent.com"
_CHEXPERT = f"{_GITHUB}/rajpurkarlab/cheXpert-test-set-labels/a930205df292983a4bc9362ea80847e3e41f6857"
_ROUTERDC = f"{_GITHUB}/shuhao02/RouterDC/dadb87299f65fb8f1c1dddc30967a3907d0132dd/datasets"

# Folder in the repository -> file -> the source's own sha256. On disk a name keeps its folders, joined by "__".
_CHEXPERT_FILES = {
    "example_models/decisions/standard": {
        "drnet_decisions.csv": "ccb318c84c13c80403bfff30e3c766b7e609c08fdff7790eca69e05686f7358e",
        "ngango2_decisions.csv": "103f760d9764cfd413e32bc8996d4885f0670a97600b732bb26adc849a30966c",
        "ngango3_decisions.csv": "f2021d2e6037de42579b445369833c99a0a648d9234d800f1d7055a054acbbdc",
        "sensexdr_decisions.csv": "6066276a918ef4e51e2fe3af53339c761c4533628054025f65d3a359004d0910",
        "uestc_decisions.csv": "1403adb44a69ebf362a7e6a5b34c49a5e56daca63069d80b5938dc7afd96cde4",
    },
    "decisions/standard": {
        "ihil_decisions.csv": "21727c399ad87c1ccbef7f1a3d95789a92d490c56a20bbb3efafb3dd1c572901",
        "jfaboy_decisions.csv": "3424839b48e449448287285ae19eea2a743ad9e85cb4a5bfa20ef30496e8e171",
        "yww211_decisions.csv": "f79493b3c908fec8f7b216ff33ee6c0f031f46cfa90b59e687e0579d1fb26ccc",
    },
    "predictions/standard": {
        "desmond_predictions.csv": "62e46bfefe05b8fe3a7c44f5c090a858d9790adf819a26583a666fea69473ba2",
        "jfaboy_predictions.csv": "0d81be5c2d2fdbdbaf1db763657f2c2d4d9ad5629f682c100818794a4fd85425",
    },
    "example_models/predictions/standard": {
        "drnet_predictions.csv": "23e41262846ddef569182e1be90ed43a33694df772c3c97061545ee6af6e666d",
        "hieupham_predictions.csv": "2a4bcc8e29aabd358b74b3205bf4ba3608ab69ac9a865f270d3025f38a096c9f",
        "ihil_predictions.csv": "f9e308f444711e8ae7cc13bb3911c965bacffc0bb5c2148644917d7f3aace2ce",
        "ngango2_predictions.csv": "b728649449c8e60a9d120bd415cf4b6c8579600667fe90ec72a2f352f8d5cf1d",
        "ngango3_predictions.csv": "ad35c236742b81d4301203b4167771de76bf34a793251566ac33aa033a52e522",
        "sensexdr_predictions.csv": "ad07189095c6f758ca93bc1648ad6030638a6c631e3f7bd479606c76cb38a658",
        "uestc_predictions.csv": "3998f8948c602dbdfe9d4f17bc37336120f501b0167845487a516c23bd217e7b",
        "yww211_predictions.csv": "18645ac8ab3e58d2f22ba1109f8a0fff99fbc0c5208dd7a38a0cb68c6123e38f",
    },
    "": {
        "groundtruth.csv": "307325997d3260cf2a08b7d6314bb5707391fa255cf83cd9427f6d49b15867c0",
    },
    "radiologists/benchmark_radiologists": {
        "bc4.csv": "e38937132ea0b2f179ad39c72023966b9a93f5d0621537b85f10be3e45076c17",
        "bc6.csv": "d16737506085753bc2e074bf6aaedada60cfb94f1a43f4fc54064607e2ad9dce",
        "bc8.csv": "90bd6f9454d4904d248c214d57a62f613b7d481e7d9f0381f5032232a316a7b9",
    },
    "radiologists/groundtruth": {
        "bc1_gt.csv": "a1087d2c9018484d608f912dd655e11c71ea0cffc25534b34da90aba4c3ed142",
        "bc2_gt.csv": "8cc9f67bb376e327dd9623f0417bdd638b421b5ec1eacf7a905f7bba33c3b5ef",
        "bc3_gt.csv": "eea7cfcca39732332b5d6214a903d3629c29a116c580204f334d51ac124f20d5",
        "bc5_gt.csv": "bceae48c80e8d5a35abceb860c2ae734059874b5ac24c0a3c0d208d745b01eeb",
        "bc7_gt.csv": "21b33ceec9951e9b0b3faf113552d1be26aac1ab485863f808025d8c6db27dec",
    },
}


def chexpert_name(folder: str, name: str) -> str:
    """Return the name on disk of a file of the repository.

    >>> chexpert_name("radiologists/benchmark_radiologists", "bc4.csv")
    'radiologists__benchmark_radiologists__bc4.csv'
    """
    networks = "example_models" if folder.startswith(("decisions", "predictions")) else ""
    return "/".join(part for part in (networks, folder, name) if part).replace("/", "__")


CHEXPERT = Dataset(
    name="chexpert-readers",
    title="CheXpert test set labels",
    what="500 chest films read for 14 findings by 3 radiologists, and for 5 of them by networks; 5 more are the truth",
    licence="none stated by the repository",
    citation="Irvin, J. et al. (2019). CheXpert. AAAI. Rajpurkar, P. et al. (2021). CheXternal. CHIL.",
    homepage="https://github.com/rajpurkarlab/cheXpert-test-set-labels",
    files=tuple(
        DataFile(
            f"chexpert_test_readers/{chexpert_name(folder, name)}",
            sha256=sha256,
            url="/".join(part for part in (_CHEXPERT, folder, name) if part),
        )
        for folder, files in _CHEXPERT_FILES.items()
        for name, sha256 in files.items()
    ),
    loader="chexpert:chexpert_tables",
    by_hand="the csv files, their folders joined by __ as in radiologists__groundtruth__bc1_gt.csv, into "
    "chexpert_test_readers/",
)

LLM_ROUTING_9 = Dataset(
    name="llm-routing-9",
    title="LLMRouter's routing data",
    what="6,108 questions of 14 tasks with the scores of 9 language models, and prices per token",
    licence="MIT",
    citation="LLMRouter, University of Illinois Urbana-Champaign, github.com/ulab-uiuc/LLMRouter.",
    homepage="https://github.com/ulab-uiuc/LLMRouter",
    files=(
        DataFile(
            "llm_routing_9/llmrouter9.parquet",
            "compact",
            "35bb23fb7a0f31ef0dfeb1ee4d92374f4379bbf6f3df660e627d15befc501f2e",
        ),
        DataFile(
            "llm_routing_9/prices_usd_per_million_tokens.json",
            "compact",
            "282bfa748b0b3a3bf83dfea4a5c513d61bed0723e137535d29b46bf455066a61",
        ),
    ),
    loader="llm_routing:llm_routing_9",
    by_hand="llmrouter9.parquet (split, task, question, one column of scores per model) and "
    "prices_usd_per_million_tokens.json into llm_routing_9/",
    labels="scores",
)

ROUTERDC_FILES = (
    *(
        f"split2_model7/{task}.json"
        for task in (
            "MATH_prealgebra",
            "arc_challenge_test",
            "arc_challenge_train",
            "arc_easy_test",
            "arc_easy_train",
            "ceval",
            "cmmlu_test",
            "gsm8k-test",
            "gsm8k-train",
            "humaneval_test",
            "humaneval_train",
            "javascript",
            "mbpp",
            "mmlu_test",
        )
    ),
    "split2_model7_cluster/cmmlu_train.json",
    "split2_model7_cluster/mmlu_train.json",
)

LLM_ROUTING_7 = Dataset(
    name="llm-routing-7",
    title="RouterDC's routing data",
    what="20,600 questions of 16 tasks with the scores of 7 language models",
    licence="none stated by the repository",
    citation="Chen, S., Jiang, W., Lin, B., Kwok, J., Zhang, Y. (2024). RouterDC. NeurIPS.",
    homepage="https://github.com/shuhao02/RouterDC",
    files=(
        DataFile(
            "llm_routing_7/routerdc7.parquet",
            "compact",
            "3a819f04b009e6afcce97a5448479d52e2775983334366e26d90f783f67c05ea",
        ),
        *(DataFile(f"llm_routing_7/{path.split('/')[1]}", url=f"{_ROUTERDC}/{path}") for path in ROUTERDC_FILES),
    ),
    loader="llm_routing:llm_routing_7",
    by_hand="the json files of datasets/split2_model7, and cmmlu_train.json and mmlu_train.json of "
    "datasets/split2_model7_cluster, into llm_routing_7/",
    labels="scores",
)

VERMA2023 = Dataset(
    name="verma2023-outputs",
    title="Stored outputs of learning to defer to multiple experts",
    what="285 runs of the paper's authors: network outputs, experts' answers, labels; for checking only",
    licence="none: for checking only, not to be passed on",
    citation="Verma, R., Barrejón, D., Nalisnick, E. (2023). Learning to defer to multiple experts: consistent "
    "surrogate losses, confidence calibration, and conformal ensembles. AISTATS.",
    homepage="https://github.com/rajevv/Multi_L2D",
    files=(
        DataFile(
            "verma2023_outputs/index.json",
            "compact",
            "25b90a146abb28950549cda891bb0c1397e2ed3f1570fa2dbf79174d6e39f5a2",
        ),
        DataFile(
            "verma2023_outputs/conformal_targets.csv",
            "compact",
            "3ffe972e94a3ae21fc260250baebcce52944326145cfb00df123f26a881dc913",
        ),
        DataFile(
            "verma2023_outputs/published_figures.csv",
            "compact",
            "b5679cd1b9e919e8fbf48c9a867c21048d358d296dd7568aa6c293f143689ee0",
        ),
    ),
    loader="verma2023:verma2023_outputs",
    by_hand="index.json and the npz files that it names into verma2023_outputs/",
    labels="none",
    tree="verma2023_outputs",
    tree_sha256="103517fe7540513fe25bc84fd211621ffd0c255b31df2fcdd19d37afa55f0e65",
)

MODELS = (CHEXPERT, LLM_ROUTING_9, LLM_ROUTING_7, VERMA2023)
