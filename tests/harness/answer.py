# SPDX-License-Identifier: MIT
"""silt's answers as JSON, read strictly."""

import json


def each_key_once(pairs):
    """For json.loads: of a key that occurs twice most readers keep the last, silently."""
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"twice: {sorted({k for k in keys if keys.count(k) > 1})} in {keys}"
    return dict(pairs)


def parse(text):
    return json.loads(text, object_pairs_hook=each_key_once)
