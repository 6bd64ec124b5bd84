"""Pictures: CIFAR-10 and its people, skin lesions, galaxies. Hashes of compact files are of our form of the data."""

from types import MappingProxyType

from defero.datasets.catalog.entry import DataFile, Dataset

_GITHUB = "https://raw.githubusercontent.com"
_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")

CIFAR10 = Dataset(
    name="cifar10",
    title="CIFAR-10",
    what="60,000 pictures of 32 x 32 in 10 classes",
    licence="none stated; the author asks for a citation",
    citation="Krizhevsky, A. (2009). Learning multiple layers of features from tiny images. University of Toronto.",
    homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
    files=(
        DataFile("cifar10/train1.webp", "compact", "7d659541ed95237ea4e04e2d33389e1104c1953861748ff53d660d6c8d6654f9"),
        DataFile("cifar10/train2.webp", "compact", "51af9519a93c50876c6e10004965e1e5959387da1f8d7b96f16f7ca26219af79"),
        DataFile("cifar10/train3.webp", "compact", "3c724790d972e645054d7cc995e1535ee05064097410e5a14c537c7145a70db8"),
        DataFile("cifar10/train4.webp", "compact", "7e1e0d309a2ac32bb67831184e997f88a9e74324a01f95cc481819c6955db2b3"),
        DataFile("cifar10/train5.webp", "compact", "1d3f867bf1d6f975111042b2a5f839fd80c93de1c03f75c667d7840bd55da85c"),
        DataFile("cifar10/test.webp", "compact", "df199aec7516a004a23ad02816a63a368d2208347ff1c4011eaa91a2503201fc"),
        DataFile(
            "cifar10/cifar10_labels.npz", "compact", "2adcb621b226054b45ea498e5151b50747ee667e75829c059844e7b78f6b5196"
        ),
        DataFile(
            "cifar10/cifar-10-python.tar.gz",
            sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
            url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            members=_BATCHES,
            instead=tuple(f"{batch}.bin" for batch in _BATCHES),
        ),
    ),
    loader="cifar10_pictures:cifar10",
    by_hand="cifar-10-python.tar.gz, or the folder cifar-10-batches-py or cifar-10-batches-bin, into cifar10/",
    arrays=MappingProxyType(
        {
            "train1": "fc115a3de050d667b88cbd5b0b9612ebf996c54230fe7758f3a14bb5af9a1c27",
            "train2": "89e609b642f687bc796fa3bfa4211005582a0e8131d463d996d11ddb297d312e",
            "train3": "93a365823e61729490a8801d80864ccd0ab1e8c98f19d71af65644d1c5f1486e",
            "train4": "809eb95ecd057a36516318f5023ea619009dd70dd38193db9da43125a928e6fa",
            "train5": "d05b7d66d216d6df882cc760cdc0ff2f1f0437abf699ed16005c021ef0add9cb",
            "test": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
            "train_labels": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
            "test_labels": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
        }
    ),
)

CIFAR10N = Dataset(
    name="cifar10n",
    title="CIFAR-10N",
    what="three human labels for each of CIFAR-10's 50,000 training pictures",
    licence="CC BY-NC 4.0",
    citation="Wei, J., Zhu, Z., Cheng, H., Liu, T., Niu, G., Liu, Y. (2022). Learning with noisy labels revisited: a "
    "study using real-world human annotations. ICLR.",
    homepage="http://www.noisylabels.com",
    files=(
        DataFile(
            "cifar10n/cifar10n.npz", "compact", "b25319bae4d44f955a3bec80674f5d68f345c4a0691bab2c1f4e0a85c3ac5fa5"
        ),
        DataFile(
            "cifar10n/CIFAR-10_human.npy",
            url=f"{_GITHUB}/UCSC-REAL/cifar-10-100n/efd855a266504469bb065f6140cced96f2d7d7d1/data/CIFAR-10_human.npy",
        ),
    ),
    loader="cifar10_people:cifar10n",
    by_hand="CIFAR-10_human.npy into cifar10n/",
)

CIFAR10H = Dataset(
    name="cifar10h",
    title="CIFAR-10H",
    what="51 human votes on average for each of CIFAR-10's 10,000 test pictures; our form adds 11 networks",
    licence="CC BY-NC-SA 4.0",
    citation="Peterson, J., Battleday, R., Griffiths, T., Russakovsky, O. (2019). Human uncertainty makes "
    "classification more robust. ICCV.",
    homepage="https://github.com/jcpeterson/cifar-10h",
    files=(
        DataFile(
            "cifar10h/cifar10h.npz", "compact", "8a00bf945d9f8a76914c3357bdf6889d5a69058694341419772d5953002ff7ab"
        ),
        DataFile(
            "cifar10h/cifar10h-counts.npy",
            url=f"{_GITHUB}/jcpeterson/cifar-10h/597cbc5f07266c9405b830ee4a53463539124c4f/data/cifar10h-counts.npy",
        ),
    ),
    loader="cifar10_people:cifar10h",
    by_hand="cifar10h-counts.npy into cifar10h/",
)

HAM10000 = Dataset(
    name="ham10000",
    title="HAM10000",
    what="10,015 pictures of skin lesions in 7 diagnoses, with age, sex and site",
    licence="CC BY-NC 4.0",
    citation="Tschandl, P., Rosendahl, C., Kittler, H. (2018). The HAM10000 dataset, a large collection of "
    "multi-source dermatoscopic images of common pigmented skin lesions. Scientific Data 5, 180161.",
    homepage="https://doi.org/10.7910/DVN/DBW86T",
    files=(
        DataFile(
            "ham10000/HAM10000_metadata.csv",
            "compact",
            "26ef37e1e57498d250a851c955dd99836faa6fd2380625647634ba43de55c37d",
        ),
        DataFile(
            "ham10000/ham10000_200x150_jpg.tar",
            "compact",
            "540054712d89cc1af1de1898619137faf35113038fb5b457a5f6f213833fe22c",
        ),
        DataFile("ham10000/HAM10000_metadata*"),
        DataFile("ham10000/**/ISIC_*.jpg"),
    ),
    loader="skin_lesions:ham10000",
    by_hand="HAM10000_metadata.csv and the unpacked folders of ISIC_*.jpg into ham10000/",
)

GALAXYZOO = Dataset(
    name="galaxyzoo",
    title="Galaxy Zoo: the galaxy challenge",
    what="galaxies: 2,000 of 64 x 64 with a 0/1 label, or Kaggle's 61,578 with the shares of votes",
    licence="Kaggle competition terms",
    citation="Willett, K. et al. (2013). Galaxy Zoo 2. Monthly Notices of the Royal Astronomical Society 435, 2835.",
    homepage="https://www.kaggle.com/c/galaxy-zoo-the-galaxy-challenge",
    files=(
        DataFile(
            "galaxyzoo_2000/galaxyzoo_2000_64.npz",
            "compact",
            "40e0f44d5d362bea6bbe3bf878afbcf4553198c5a721fba426870402612273f2",
        ),
        DataFile("galaxyzoo/training_solutions_rev1.csv"),
        DataFile("galaxyzoo/images_training_rev1*"),
    ),
    loader="galaxies:galaxyzoo",
    by_hand="training_solutions_rev1.csv and images_training_rev1.zip, or its folder, into galaxyzoo/",
)

IMAGES = (CIFAR10, CIFAR10N, CIFAR10H, HAM10000, GALAXYZOO)
