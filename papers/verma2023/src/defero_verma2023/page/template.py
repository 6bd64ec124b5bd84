"""The fixed words of the reproduction's page."""

PAGE = """\
# "Learning to Defer to Multiple Experts", reproduced

{opening}

```
# the authors' stored outputs, measured again: no training
defero reproduce all --stored --out papers/verma2023/figures/stored
# a small network on a subset, on a laptop
defero reproduce fig2a --train --quick
# pictures and this page, from the runs in results/
defero reproduce all --out papers/verma2023/figures
```

The command comes with `pip install defero-verma2023`; in a checkout where nothing is installed it is
`PYTHONPATH=src:papers/verma2023/src python -m defero_verma2023`.

`defero reproduce fig2a --train` trains in full, on a GPU where there is one, and goes on where it stopped. Each run is
one line of `results/`: seed, recipe, machine, versions, seconds and every measure. A network on which other runs rest
is trained once by each command, and once for all where the variable `DEFERO_STOCK` names a folder to keep it in. The
authors' outputs have no licence, so that we may check them and not pass them on: `--stored` needs a copy of your own
under `DEFERO_DATA`, in the form that `defero datasets info verma2023-outputs` describes. What it gave is in
`figures/stored`.

**What stands.** The paper's ideas do: two consistent losses for many experts, probabilities read off them, and sets of
experts chosen by conformal inference. defero is built on them. The authors published code, outputs and result files;
without that openness this page could not exist. Our [notes on it]({errata}) have what we found line by line, and
[conformal sets]({conformal}) puts promise and practice side by side.

## Verdicts

{count}

{short}

How a verdict is computed (`claims/rules.py`; one function per claim in the other files of `claims/`):

{rules}

{claims}{open_claims}

### Promises of the sets

Conformal sets come with a promise, which is no part of the claims on their size: a small set that leaves out the right
experts is small and wrong. Shares are of the sets as the authors ran them, on our networks, with 95 % intervals over
seeds; 0.10 was asked. Kept: the interval ends below 0.12, as means over ten splits scatter by about 0.01. Broken: it
begins above. Open: it does neither.

{promises}

### Beside the claims

What the claims are often read as, and do not say.

{remarks}

### What changed in the words

Verdicts used to be one word that followed the sign of the mean, and some claims had conditions of ours in them. The
table counts the verdicts before (rows) and now (columns); one claim of Figure 2a is two now. Each change has its line
below. Since then a direction that does not outlast the correction for the number of verdicts is marked. Before, the
claim of Figure 2b was called contradicted (p = 0.048 by itself) without that mark.

{counts}

{changes}

## Figure 2b and the length of training

{longer}

## HAM10000 and the length of training

{longer_ham}

## Pictures

Each has the paper's panels first and ours after them, and says under the panels how many seeds it shows; what has one
seed is provisional. The mixture of experts, whose error of a quarter to a half would press all other lines together, is
left out of 2a, 2c and 2d, and has a panel of its own in 2b: its numbers are in the table of methods.

{pictures}

## Words

{terms}

## Our best system beside the best published one

At the setting where the best published system is. "One decides": the model or one expert, as trained or calibrated.
"Panel": a vote of several experts on deferred items. "The classifier alone": the same data without experts, so that it
shows how much of a gain is the classifier's and not deferral's; on CIFAR-10 and, with tfidf, on HateSpeech, where ours
is far better, most of it is. (The paper's kind of network on HateSpeech, text-cnn, is in the verdicts and in the table
of methods.) Where the authors' figure and their result files differ, the [notes]({errata}) say why, section 11.
Theirs is as published, or on CIFAR-10 the classifier within their stored network, of one seed. The interval is over
seeds; systems with fewer seeds than others there are left out. Both sides are the best of several by the test items
themselves, so both are a little flattered, ours more, as it has more to choose from.

{best}{obstacles}

## Every method side by side

{methods_words}

{methods}

## Set sizes: ours and the published regularized ones

{sets_words}

{sets}

## Runs

Minutes are of training, summed over runs, plus those of each run's first step, which is mostly compilation; runs that
shared a GPU count each, and in full. Those of frozen and tuned nets are without the one classifier beneath. The one
classifiers of CIFAR-10 are the same three in five experiments, and count once in the sum. In oracles and noisy-oracles
setting 0 is one oracle, 1 is two, and so on. In all: {gpu} minutes on a GPU, {cpu} on a CPU. The command of a
run is the one that makes it again: on the GPU a script called the same functions, for many runs at once.

{runs}

{versions}

**Not run yet**, of what `defero reproduce all --train` would run:

{missing}

## Differences from the paper's protocol

{networks}

{differences}{not_run}
"""
NOT_RUN_SECTION = """

## Claims without runs yet

{rows}"""

OPENING = """\
The figures of Verma, Barrejón and Nalisnick (AISTATS 2023), beside the numbers that the authors published, with a
verdict on each claim that our runs can judge. {so_far} One command draws the figures and writes this page: every result
and every verdict on it is computed from the runs in `results/`."""

RULES = (
    "Ours are runs that we trained; the verdict rests on them alone. Stored: the same number from the authors' own "
    "networks, for the seeds that are stored. Published: from the published means.",
    "The number is a mean over settings of differences within one setting and seed: in our runs both sides saw the "
    "same items and the same experts' answers. Where it is a difference, above 0 speaks for the claim, unless the "
    "claim names a bound (within, up to, at least): then the interval is held against that bound.",
    "The 95 % interval is Student's, over seeds. Three seeds are few: intervals are wide, and they do not hold what "
    "other data would bring.",
    "Direction: **confirmed** if the interval lies on the claim's side, **contradicted** if it lies on the other, "
    "**inconclusive** if it reaches both. Then the table has how many seeds it needs: the smallest number for which "
    "Student's interval would reach no bound, if mean and spread stay as they are.",
    "A direction is settled by its own interval. **Not after Holm** marks those that do not stay settled with Holm's "
    "correction for all verdicts together: of so many, some would seem settled by chance. With three seeds only large "
    "effects stay.",
    "A claim about every setting is decided setting by setting: confirmed if each setting's interval is on its side, "
    "contradicted if one setting's, widened for the number of settings (Bonferroni), or that of their mean lies on the "
    "other side. The reason says in how many settings it holds.",
    "**Cannot be decided**: whatever the runs give, they would settle the claim neither way. The reason says why.",
    "Size: **as published** if our interval holds the published number, else **smaller** or **larger than published**. "
    "Empty where nothing is published, or nothing can be decided. Our networks and lengths of training are others "
    "(see the differences at the end), so that a claim may hold in direction and not in size.",
    "Settings are those of the paper: two experts and more in Figure 1 and four and more in 2a and 2b, as the captions "
    "say, and two oracles and more in 3b, as drawn. Runs with one, where there are any, are in the pictures and not in "
    "the verdicts.",
    "Results at one seed are provisional, in the table and in the pictures. Their interval, where there is one, is "
    "over settings: it says how settings differ, not what another seed would give. Where there is none, the claim is "
    "inconclusive. Not run yet: less than half of the settings.",
)
