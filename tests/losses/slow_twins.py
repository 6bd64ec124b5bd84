"""The losses once more, as loops over one item with plain floats: slow, obvious, and independent of the library."""

import math


def _log_sum_exp(values):
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))


def _softplus(z):
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


def softmax(g, e, y, c, o):
    asked = [j for j in range(len(e)) if o[j]]
    log_z = _log_sum_exp([*g, *(e[j] for j in asked)])
    return -(g[y] - log_z) - sum(c[j] * (e[j] - log_z) for j in asked)


def ova(g, e, y, c, o):
    total = sum(_softplus(-g[k]) if k == y else _softplus(g[k]) for k in range(len(g)))
    return total + sum(_softplus(-e[j]) if c[j] else _softplus(e[j]) for j in range(len(e)) if o[j])


def decoupled(g, e, y, c, o):
    total = _log_sum_exp(g) - g[y]
    return total + sum(_softplus(-e[j]) if c[j] else _softplus(e[j]) for j in range(len(e)) if o[j])


def asymmetric(g, e, y, c, o):
    best = max(range(len(g)), key=lambda k: g[k])
    rest = _log_sum_exp([v for k, v in enumerate(g) if k != best])
    return decoupled(g, [v - rest for v in e], y, c, o)


def moe(g, e, y, c, o, a0):
    asked = [j for j in range(len(e)) if o[j]]
    log_z = _log_sum_exp([a0, *(e[j] for j in asked)])
    log_h = g[y] - _log_sum_exp(g)
    return log_z - _log_sum_exp([a0 + log_h, *(e[j] for j in asked if c[j])])
