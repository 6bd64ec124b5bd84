"""The end of a Parquet file, which says where its row groups are: row groups of several files become one file.

Only what joining needs is understood: Thrift's compact protocol in general, and which numbers of a row group are places
in the file. A writer that was stopped can so go on: every piece is encoded alone, and its row groups are moved.
"""

import struct
from dataclasses import dataclass
from typing import Any

MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_NUM_ROWS, _ROW_GROUPS = 3, 4  # fields of FileMetaData
_COLUMNS, _GROUP_OFFSET, _GROUP_ROWS, _ORDINAL = 1, 5, 3, 7  # of RowGroup
_CHUNK_OFFSET, _CHUNK_META = 2, 3  # of ColumnChunk; 4 and 6 are the places of indexes
_CHUNK_PLACES = (_CHUNK_OFFSET, 4, 6)
_META_PLACES = (9, 10, 11, 14)  # of ColumnMetaData: pages of data, of an index, of a dictionary, a filter
_MOST_ORDINAL = 2**15 - 1

Fields = list[tuple[int, int, Any]]
"""Of a struct: number, type and value of each field."""


@dataclass(frozen=True)
class Piece:
    """A Parquet file taken apart: the bytes of its row groups, and its end as a struct."""

    body: bytes
    footer: Fields

    @classmethod
    def of(cls, content: bytes) -> "Piece":
        """Take a whole file apart."""
        size = int.from_bytes(content[-8:-4], "little")
        footer = content[-8 - size : -8]
        return cls(content[len(MAGIC) : -8 - size], _Reader(footer).fields())

    def moved_groups(self, start: int, *, ordinal: int) -> tuple[list[bytes], int]:
        """Return the row groups as they are described where the body starts at `start`, and how many rows they have."""
        groups, n_rows = [], 0
        for place, group in enumerate(_value(self.footer, _ROW_GROUPS)[1]):
            groups.append(encode_struct(_moved(group, start - len(MAGIC), ordinal=ordinal + place)))
            n_rows += _value(group, _GROUP_ROWS)
        return groups, n_rows


def joined_footer(template: bytes, groups: list[bytes], n_rows: int) -> bytes:
    """Return the end of a file with these row groups; `template` is the footer of its first piece."""
    fields = [
        (number, kind, n_rows if number == _NUM_ROWS else value) for number, kind, value in _Reader(template).fields()
    ]
    before = [one for one in fields if one[0] < _ROW_GROUPS]
    after = [one for one in fields if one[0] > _ROW_GROUPS]
    group_list = _list_header(len(groups), _STRUCT) + b"".join(groups)
    footer = _encode_fields(before) + bytes([(_ROW_GROUPS - before[-1][0]) << 4 | _LIST]) + group_list
    footer += _encode_fields(after, previous=_ROW_GROUPS) + b"\0"
    return footer + len(footer).to_bytes(4, "little") + MAGIC


def encode_struct(fields: Fields) -> bytes:
    """Return a struct as bytes."""
    return _encode_fields(fields) + b"\0"


def _value(fields: Fields, number: int) -> Any:
    return next(value for one, _, value in fields if one == number)


def _moved(group: Fields, shift: int, *, ordinal: int) -> Fields:
    moved: Fields = []
    for number, kind, value in group:
        if number == _COLUMNS:
            moved.append((number, kind, (value[0], [_moved_chunk(chunk, shift) for chunk in value[1]])))
        elif number == _ORDINAL:
            if ordinal <= _MOST_ORDINAL:  # 16 bits, and optional
                moved.append((number, kind, ordinal))
        else:
            moved.append((number, kind, value + shift if number == _GROUP_OFFSET else value))
    return moved


def _moved_chunk(chunk: Fields, shift: int) -> Fields:
    moved: Fields = []
    for number, kind, value in chunk:
        if number == _CHUNK_META:
            places = [(one, own, at + shift if one in _META_PLACES else at) for one, own, at in value]
            moved.append((number, kind, places))
        else:
            moved.append((number, kind, value + shift if number in _CHUNK_PLACES and value else value))
    return moved


class _Reader:
    """Reads Thrift's compact protocol."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def fields(self) -> Fields:
        fields: Fields = []
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields.append((number, kind, kind == _TRUE if kind in (_TRUE, _FALSE) else self._read(kind)))
        return fields

    def _read(self, kind: int) -> Any:
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind in (_BYTE, _TRUE, _FALSE):  # inside lists true and false are bytes
            return self._byte()
        if kind == _STRUCT:
            return self.fields()
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._unsigned()
            return head & 15, [self._read(head & 15) for _ in range(size)]
        if kind in (_BINARY, _DOUBLE):
            return self._take(self._unsigned() if kind == _BINARY else 8)
        raise ValueError(f"type {kind} in the end of a Parquet file")

    def _take(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _unsigned(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


def _encode_fields(fields: Fields, *, previous: int = 0) -> bytes:
    parts = []
    for number, kind, value in fields:
        step = number - previous
        parts.append(bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _signed(number))
        if kind not in (_TRUE, _FALSE):
            parts.append(_encode(kind, value))
        previous = number
    return b"".join(parts)


def _encode(kind: int, value: Any) -> bytes:
    if kind in (_I16, _I32, _I64):
        return _signed(value)
    if kind in (_BYTE, _TRUE, _FALSE):
        return struct.pack("B", value)
    if kind == _STRUCT:
        return encode_struct(value)
    if kind in (_LIST, _SET):
        return _list_header(len(value[1]), value[0]) + b"".join(_encode(value[0], one) for one in value[1])
    return (_unsigned(len(value)) if kind == _BINARY else b"") + bytes(value)


def _list_header(size: int, kind: int) -> bytes:
    return bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + _unsigned(size)


def _unsigned(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _signed(value: int) -> bytes:
    return _unsigned(value << 1 ^ value >> 63)
