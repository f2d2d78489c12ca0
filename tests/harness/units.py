# SPDX-License-Identifier: MIT
"""Sizes as silt prints them (src/base/units.c)."""

NAMES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
FACTORS = {name: 1024 ** i for i, name in enumerate(NAMES)}


def size_text(n_bytes):
    value, unit = float(n_bytes), 0
    while value >= 1023.5 and unit + 1 < len(NAMES):
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {NAMES[unit]}" if unit and value < 999.95 else f"{value:.0f} {NAMES[unit]}"


def bytes_of(text):
    """The number of bytes that `10.0 MiB` says."""
    number, unit = text.split()
    return float(number) * FACTORS[unit]
