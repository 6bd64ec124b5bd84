"""Exact properties that hold for every loss, and agreement with slow twins written as loops."""

import pytest
import slow_twins
import torch
from hypothesis import given
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.losses import DeferralLoss, asymmetric_loss, decoupled_loss, moe_loss, ova_loss, softmax_loss
from defero.losses.batch import check_batch

NAMES = ["softmax", "ova", "decoupled", "asymmetric", "moe"]
every_loss = pytest.mark.parametrize("name", NAMES)


def batch(seed, n=4, k=3, j=3, scale=3.0, dtype=torch.float64):
    rng = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=rng, dtype=dtype)

    return {
        "class_logits": draw(n, k) * scale,
        "expert_logits": draw(n, j) * scale,
        "labels": torch.randint(k, (n,), generator=rng),
        "correct": draw(n, j) > 0,
        "observed": draw(n, j) > -0.5,
        "model_logit": draw(n) * scale,
    }


def values(name, b, **changed):
    b = b | changed
    if name != "moe":
        b = {key: value for key, value in b.items() if key != "model_logit"}
    return DeferralLoss(name)(**b)


@every_loss
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), k=st.integers(2, 6), j=st.integers(0, 6))
def test_slow_twin_agrees(name, seed, n, k, j):
    b = batch(seed, n, k, j)
    extra = (lambda i: (b["model_logit"][i].item(),)) if name == "moe" else (lambda i: ())
    twin = [
        getattr(slow_twins, name)(
            b["class_logits"][i].tolist(),
            b["expert_logits"][i].tolist(),
            b["labels"][i].item(),
            b["correct"][i].tolist(),
            b["observed"][i].tolist(),
            *extra(i),
        )
        for i in range(n)
    ]
    torch.testing.assert_close(values(name, b), torch.tensor(twin, dtype=torch.float64), atol=1e-9, rtol=1e-9)


@every_loss
@pytest.mark.parametrize("scale", [3.0, 1e4])
@given(seed=st.integers(0, 10**6), j=st.integers(0, 5))
def test_nothing_said_of_who_answered_means_everybody(name, scale, seed, j):
    """Without `observed` the losses go another, faster way: the same values and the same gradients."""
    b = batch(seed, j=j, scale=scale)
    grads = []
    for observed in (None, torch.ones(4, j, dtype=torch.bool)):
        logits = [b[key].clone().requires_grad_() for key in ("class_logits", "expert_logits")]
        found = values(name, b, class_logits=logits[0], expert_logits=logits[1], observed=observed)
        found.sum().backward()
        grads.append([found.detach(), *(part.grad for part in logits)])
    for fast, plain in zip(*grads, strict=True):
        assert torch.isfinite(fast).all()
        torch.testing.assert_close(fast, plain, atol=1e-12, rtol=1e-12)


@every_loss
@given(seed=st.integers(0, 10**6), data=st.data())
def test_permuting_experts_permutes_the_gradient_and_keeps_the_value(name, seed, data):
    b = batch(seed)
    order = torch.tensor(data.draw(st.permutations(range(3))))
    plain = b["expert_logits"].clone().requires_grad_()
    moved = b["expert_logits"][:, order].clone().requires_grad_()
    one = values(name, b, expert_logits=plain)
    two = values(name, b, expert_logits=moved, correct=b["correct"][:, order], observed=b["observed"][:, order])
    torch.testing.assert_close(one, two, atol=1e-12, rtol=1e-12)
    one.sum().backward()
    two.sum().backward()
    torch.testing.assert_close(plain.grad[:, order], moved.grad, atol=1e-12, rtol=1e-12)


@every_loss
@given(seed=st.integers(0, 10**6))
def test_an_unobserved_expert_gets_exactly_no_gradient(name, seed):
    b = batch(seed)
    logits = b["expert_logits"].clone().requires_grad_()
    values(name, b, expert_logits=logits).sum().backward()
    assert (logits.grad[~b["observed"]] == 0).all()


@every_loss
@given(seed=st.integers(0, 10**6), column=st.integers(0, 2))
def test_a_masked_column_equals_a_removed_column(name, seed, column):
    b = batch(seed)
    masked = b["observed"].clone()
    masked[:, column] = False
    kept = [j for j in range(3) if j != column]
    removed = {key: b[key][:, kept] for key in ("expert_logits", "correct", "observed")}
    torch.testing.assert_close(values(name, b, observed=masked), values(name, b, **removed), atol=1e-12, rtol=1e-12)


@every_loss
@given(seed=st.integers(0, 10**6), row=st.integers(0, 3))
def test_an_item_does_not_depend_on_its_batch(name, seed, row):
    b = batch(seed)
    alone = {key: value[row : row + 1] for key, value in b.items()}
    torch.testing.assert_close(values(name, b)[row : row + 1], values(name, alone), atol=1e-12, rtol=1e-12)


@every_loss
def test_what_an_unasked_expert_would_have_said_does_not_matter(name):
    b = batch(5)
    other = torch.where(b["observed"], b["correct"], ~b["correct"])
    assert torch.equal(values(name, b), values(name, b, correct=other))


@every_loss
@pytest.mark.parametrize("seed", range(3))
def test_gradcheck(name, seed):
    b = batch(seed, scale=1.0)

    def of_logits(classes, experts, model):
        return values(name, b, class_logits=classes, expert_logits=experts, model_logit=model)

    logits = [b[key].clone().requires_grad_() for key in ("class_logits", "expert_logits", "model_logit")]
    if name == "moe":
        assert torch.autograd.gradcheck(of_logits, logits)
    else:
        assert torch.autograd.gradcheck(lambda c, e: of_logits(c, e, b["model_logit"]), logits[:2])


@every_loss
@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_finite_values_and_gradients_at_extreme_logits(name, scale):
    for seed in range(50):
        b = batch(seed, n=8, dtype=torch.float32)
        b |= {key: torch.sign(b[key]) * scale for key in ("class_logits", "expert_logits", "model_logit")}
        b["observed"][0] = False
        leaves = {key: b[key].clone().requires_grad_() for key in ("class_logits", "expert_logits", "model_logit")}
        before = {key: value.detach().clone() for key, value in leaves.items()}
        loss = values(name, b, **leaves)
        loss.sum().backward()
        assert torch.isfinite(loss).all()
        for key, leaf in leaves.items():
            assert leaf.grad is None or torch.isfinite(leaf.grad).all(), key
            assert torch.equal(leaf.detach(), before[key]), "an input was edited"


@every_loss
def test_no_experts_is_a_plain_classifier(name):
    b = batch(0, j=0)
    plain = torch.nn.functional.cross_entropy(b["class_logits"], b["labels"], reduction="none")
    if name != "ova":
        torch.testing.assert_close(values(name, b), plain)
    assert values(name, b).shape == (4,)


def test_one_expert_softmax_is_equation_4():
    b = batch(1, j=1)
    q = torch.cat([b["class_logits"], b["expert_logits"]], dim=1).log_softmax(dim=1)
    rows = torch.arange(4)
    expected = -q[rows, b["labels"]] - b["correct"][:, 0] * q[:, 3]
    torch.testing.assert_close(softmax_loss(**{k: b[k] for k in list(b)[:4]}), expected)


def test_one_expert_ova_is_equation_5():
    b = batch(2, j=1)
    g, e, right = b["class_logits"], b["expert_logits"][:, 0], b["correct"][:, 0].double()

    def phi(z):
        return torch.log1p(torch.exp(-z))

    rows = torch.arange(4)
    others = phi(-g).sum(dim=1) - phi(-g[rows, b["labels"]])
    expected = phi(g[rows, b["labels"]]) + others + phi(-e) + right * (phi(e) - phi(-e))
    torch.testing.assert_close(ova_loss(**{k: b[k] for k in list(b)[:4]}), expected)


def test_decoupled_weight_scales_the_experts_alone():
    b = batch(3)
    arguments = {k: b[k] for k in list(b)[:5]}
    classes = decoupled_loss(**arguments, expert_weight=0.0)
    both = decoupled_loss(**arguments)
    torch.testing.assert_close(decoupled_loss(**arguments, expert_weight=0.25), classes + 0.25 * (both - classes))


def test_asymmetric_keeps_the_order_of_the_logits():
    rng = torch.Generator().manual_seed(0)
    g, e = torch.randn(20_000, 5, generator=rng), torch.randn(20_000, 3, generator=rng)
    from defero.losses.asymmetric import log_rest

    proba = torch.cat([g.softmax(1), torch.sigmoid(e - log_rest(g)[:, None])], dim=1)
    assert torch.equal(proba.argmax(1), torch.cat([g, e], dim=1).argmax(1))


def test_module_and_function_are_one():
    b = batch(4)
    arguments = {k: b[k] for k in list(b)[:5]}
    assert torch.equal(DeferralLoss("asymmetric")(**arguments), asymmetric_loss(**arguments))
    moe = moe_loss(**arguments, model_logit=b["model_logit"])
    assert torch.equal(DeferralLoss("moe")(**arguments, model_logit=b["model_logit"]), moe)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"expert_logits": torch.zeros(4)}, r"expert_logits \(n, J\), got \(4, 3\) and \(4,\)"),
        ({"labels": torch.zeros(3, dtype=torch.long)}, r"as many rows, got 4, 4 and \(3,\)"),
        ({"labels": torch.zeros(4)}, "dtype torch.long, got torch.float32"),
        ({"correct": torch.zeros(4, 2)}, r"correct must be \(n, J\) = \(4, 3\) like expert_logits, got \(4, 2\)"),
        ({"observed": torch.ones(3, 3)}, r"observed must be \(n, J\) = \(4, 3\)"),
    ],
)
def test_a_wrong_batch_is_named(changed, words):
    b = batch(0) | changed
    with pytest.raises(InputError, match=words):
        check_batch(b["class_logits"], b["expert_logits"], b["labels"], b["correct"], b["observed"])


def test_an_unknown_loss_is_named():
    with pytest.raises(InputError, match=r"loss must be one of softmax, ova, .*, got 'hinge'"):
        DeferralLoss("hinge")
    arguments = {key: value for key, value in batch(0).items() if key != "model_logit"}
    with pytest.raises(InputError, match="model_logit is missing"):
        DeferralLoss("moe")(**arguments)


@pytest.mark.parametrize("loss", ["ova", "decoupled"])
@pytest.mark.parametrize("j", [1, 20])
def test_the_classes_gradient_of_a_separable_loss_lies_alone_in_memory(loss, j):
    """BLAS rounds columns of a wider matrix differently: over a training the classes then depend on J."""
    b, strides = batch(0, n=50, j=j), []
    class_logits = b["class_logits"].requires_grad_() * 1.0
    class_logits.register_hook(lambda gradient: strides.append(gradient.stride()))
    values(loss, b, class_logits=class_logits, observed=None).sum().backward()
    assert strides == [(3, 1)]
