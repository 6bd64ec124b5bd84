"""Crowds: texts and features answered by many people, each by a few. Compact hashes are of our form of the data."""

from defero.datasets.catalog.entry import DataFile, Dataset

_GITHUB = "https://raw.githubusercontent.com"
_DAVIDSON = f"{_GITHUB}/t-davidson/hate-speech-and-offensive-language/6a1e3f02522963d820e302c3ad48b189552c143b"
_KESWANI = f"{_GITHUB}/vijaykeswani/Deferral-To-Multiple-Experts/3aa1f621991cb9d7823757d68c178870b686da62"
_LEWIDI = f"{_GITHUB}/Le-Wi-Di/le-wi-di.github.io/37ed47e84d3709a3eb08c67dd3c65d0f934e2b9c/data_post-competition.zip"
_PREPARED = "LabelMe/prepared"

HATESPEECH = Dataset(
    name="hatespeech",
    title="Hate speech and offensive language",
    what="24,783 tweets in 3 classes, with how many of 3 to 9 people chose each",
    licence="MIT",
    citation="Davidson, T., Warmsley, D., Macy, M., Weber, I. (2017). Automated hate speech detection and the problem "
    "of offensive language. ICWSM.",
    homepage="https://github.com/t-davidson/hate-speech-and-offensive-language",
    files=(
        DataFile(
            "hatespeech/labeled_data.csv.gz",
            "compact",
            "0d626a3ca562d6b03b09bd3950c7e4d4b0cd065bb26d743f58ceccb8f7e795b2",
        ),
        DataFile("hatespeech/labeled_data.csv", url=f"{_DAVIDSON}/data/labeled_data.csv"),
    ),
    loader="tweets:hatespeech",
    by_hand="labeled_data.csv into hatespeech/",
)

SENTIMENT = Dataset(
    name="sentiment-polarity-crowd",
    title="Sentence polarity, answered on Mechanical Turk",
    what="8,998 sentences of film reviews, 4,999 of them answered by 5.6 of 203 people, with the truth",
    licence="none stated; published for research",
    citation="Rodrigues, F., Pereira, F., Ribeiro, B. (2013). Learning from multiple annotators: distinguishing good "
    "from random labelers. Pattern Recognition Letters 34, 1428. Sentences: Pang, B., Lee, L. (2005). ACL.",
    homepage="http://fprodrigues.com",
    files=(
        DataFile(
            "sentiment_polarity_crowd/items.csv.gz",
            "compact",
            "e5284acf9ea3eee97075ecbc58ec052223597ef48cdd22a121b9df89497ed5b7",
        ),
        DataFile(
            "sentiment_polarity_crowd/annotations.csv.gz",
            "compact",
            "9dd593a32403cfa710c3cc9c1b306490a585b79fc279a256e66bbfde3684e3e3",
        ),
        DataFile(
            "sentiment_polarity_crowd/minilm.npy",
            "compact",
            "12ff7655c7a3b938f9a7c5113d6179b94d44b3fd0c32af2d6d22a08b2ca69a1a",
        ),
        DataFile(
            "sentiment_polarity_crowd/mturk-datasets.tar.gz",
            url="https://fprodrigues.com/mturk-datasets.tar.gz",
            members=("sentiment_polarity/mturk_answers.csv",),
        ),
    ),
    loader="text_crowds:sentiment_polarity_crowd",
    by_hand="mturk-datasets.tar.gz, or its sentiment_polarity/mturk_answers.csv, into sentiment_polarity_crowd/",
)

KESWANI = Dataset(
    name="keswani-toxicity",
    title="Toxic posts, answered by a crowd",
    what="1,471 posts answered by 8.4 of 170 people, with the truth and the dialect",
    licence="none stated by the repository",
    citation="Keswani, V., Lease, M., Kenthapadi, K. (2021). Towards unbiased and accurate deferral to multiple "
    "experts. AIES.",
    homepage="https://github.com/vijaykeswani/Deferral-To-Multiple-Experts",
    files=(
        DataFile(
            "keswani_toxicity/items.csv.gz",
            "compact",
            "0b4170cc144f9ebc53146e741e7d85445972724f21af234cba3b8f7886191479",
        ),
        DataFile(
            "keswani_toxicity/annotations.csv.gz",
            "compact",
            "5a3d165bc061105cd9e56a705f8bcf36e7849d7eccf4291de75cb076b5f0648c",
        ),
        DataFile(
            "keswani_toxicity/minilm.npy", "compact", "e0e900c949cc6c1d9fd5840e380cf6ab8c1fe9e97a6fced5fceecb6cc2ebc90f"
        ),
        DataFile("keswani_toxicity/all_results.csv", url=f"{_KESWANI}/all_results.csv"),
    ),
    loader="text_crowds:keswani_toxicity",
    by_hand="all_results.csv into keswani_toxicity/",
)

LABELME = Dataset(
    name="labelme-crowd",
    title="LabelMe, answered on Mechanical Turk",
    what="2,688 scenes in 8 classes as VGG features; 1,000 of them answered by 2.5 of 59 people",
    licence="none stated; published for research",
    citation="Rodrigues, F., Pereira, F. (2018). Deep learning from crowds. AAAI.",
    homepage="http://fprodrigues.com",
    files=(
        DataFile(
            "labelme_crowd/labelme.npz", "compact", "ffdedb4e9fd3b4a1bd8cbc040defd03bf64ee50cf5f1bc0eb4e8592d9f3279da"
        ),
        DataFile(
            "labelme_crowd/deep_LabelMe.tar.gz",
            url="https://fprodrigues.com/deep_LabelMe.tar.gz",
            members=(
                f"{_PREPARED}/answers.npy",
                *(f"{_PREPARED}/data_{part}_vgg16.npy" for part in ("train", "valid", "test")),
                *(f"{_PREPARED}/labels_{part}.npy" for part in ("train", "valid", "test")),
            ),
        ),
    ),
    loader="labelme:labelme_crowd",
    by_hand="deep_LabelMe.tar.gz, or its LabelMe/prepared/*.npy, into labelme_crowd/",
)


def _lewidi(name: str, *, title: str, what: str, citation: str, label: str) -> Dataset:
    parts = tuple(f"{label}_dataset/{label}_{part}.json" for part in ("train", "dev", "test"))
    return Dataset(
        name=name,
        title=title,
        what=what,
        licence="none stated; published for a shared task",
        citation=citation,
        homepage="https://le-wi-di.github.io",
        files=(
            *(DataFile(f"lewidi/{label}_{kind}.csv.gz", "compact", _LEWIDI_HASHES[label, kind]) for kind in _KINDS),
            DataFile("lewidi/data_post-competition.zip", url=_LEWIDI, members=parts),
        ),
        loader=f"lewidi:{name.replace('-', '_')}",
        by_hand=f"data_post-competition.zip, or its {label}_dataset/*.json, into lewidi/",
        labels="majority",
    )


_KINDS = ("items", "annotations")
_LEWIDI_HASHES = {
    ("HS-Brexit", "items"): "ff059f985eb76e15286e37a752cdb2b6af6d6b9ae9c606a531cd396ceca45ba2",
    ("HS-Brexit", "annotations"): "4bb05ed2fbb906edd4b7348531448392e2a6019f5e2e559d017bf141423597a8",
    ("MD-Agreement", "items"): "bf8e3e1af7d73a2c24bfebe59c6d02be28b26f6c03eea318506b6fd41212ac13",
    ("MD-Agreement", "annotations"): "3b3bc9d6780a4452db8868ef5cc819f1936a08711b6e19b22e4bb0246eb0c667",
}

LEWIDI = (
    _lewidi(
        "lewidi-hs-brexit",
        title="HS-Brexit (Learning with Disagreements)",
        what="1,120 tweets about Brexit, hate speech or not, by the same six people; no truth, majority only",
        citation="Akhtar, S., Basile, V., Patti, V. (2021). Whose opinions matter? arXiv:2106.15896.",
        label="HS-Brexit",
    ),
    _lewidi(
        "lewidi-md-agreement",
        title="MD-Agreement (Learning with Disagreements)",
        what="10,753 tweets, offensive or not, by 5 of 819 people each; no truth, majority only",
        citation="Leonardelli, E., Menini, S., Palmero Aprosio, A., Guerini, M., Tonelli, S. (2021). Agreeing to "
        "disagree. EMNLP.",
        label="MD-Agreement",
    ),
)

CROWDS = (HATESPEECH, SENTIMENT, KESWANI, LABELME, *LEWIDI)
