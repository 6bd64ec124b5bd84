"""CIFAR-10 batches as their author wrote them: with Python 2's pickle, or as plain bytes."""

import struct

import numpy as np


def planes(images):
    """Turn pictures (n, 32, 32, 3) into the rows of a batch, (n, 3072): all red, all green, all blue."""
    return np.ascontiguousarray(np.asarray(images).transpose(0, 3, 1, 2).reshape(len(images), -1))


def python2_batch(data, labels):
    """Write {data, labels} opcode by opcode as Python 2's cPickle does: byte strings, and numpy's old module path."""
    words = [
        b"\x80\x02}(",
        text("batch_label") + text("training batch 1 of 5"),
        text("labels") + b"](" + b"".join(integer(int(label)) for label in labels) + b"e",
        text("data"),
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text("b") + b"\x87R",
        b"(K\x01" + integer(data.shape[0]) + integer(data.shape[1]) + b"\x86",
        b"cnumpy\ndtype\n" + text("u1") + b"K\x00K\x01\x87R",
        b"(K\x03" + text("|") + b"NNN" + integer(-1) + integer(-1) + b"K\x00tb",
        b"\x89T" + struct.pack("<i", data.size) + data.tobytes() + b"tb",
        b"u.",
    ]
    return b"".join(words)


def text(value):
    return b"U" + bytes([len(value)]) + value.encode()


def integer(value):
    return b"J" + struct.pack("<i", value)
