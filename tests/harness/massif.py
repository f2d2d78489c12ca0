# SPDX-License-Identifier: MIT
"""Files as valgrind's massif writes them."""


def massif_file(snapshots, command, unit="ms"):
    """The text of one. snapshots: (time, live bytes, "empty") or (time, live bytes, "peak" or "detailed", who has them: "0x10: keep (a.c:7)")."""
    text = f"desc: (none)\ncmd: {command}\ntime_unit: {unit}\n"
    for number, (time, live_bytes, tree, *who) in enumerate(snapshots):
        text += (f"#-----------\nsnapshot={number}\n#-----------\ntime={time}\nmem_heap_B={live_bytes}\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
                 f"heap_tree={tree}\n")
        if who:
            text += f"n1: {live_bytes} (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n0: {live_bytes} {who[0]}\n"
    return text
