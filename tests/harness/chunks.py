# SPDX-License-Identifier: MIT
"""Where the pieces of a trace lie, as docs/trace-format.md has it."""


def chunk_ends(data):
    """(kind, where it ends) of each chunk of a trace."""
    at = 0
    while data[at : at + 4] == b"\xf5slt":
        kind = data[at + 4 : at + 8].decode()
        at += (32 + int.from_bytes(data[at + 12 : at + 16], "little") + 7) // 8 * 8
        yield kind, at


def cut_in_a_chunk(data, part):
    """The first part of it, with the beginning of one more chunk, which is lost."""
    end = max(end for _, end in chunk_ends(data) if end <= len(data) * part)
    return data[: end + 16]
