/* SPDX-License-Identifier: MIT */
/* Writes the seeds of massif_fuzz: with and without times, a peak, totals above it.
 * usage: massif_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "desc: --x\ncmd: ./m 1 2\ntime_unit: ms\n"
        "#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=0\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=empty\n"
        "#-----------\nsnapshot=1\n#-----------\ntime=5\nmem_heap_B=1000\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=detailed\nn2: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n1: 940 0x109175: big (m.c:3)\n  n0: 930 0x1091B7: main (in /bin/m)\n n0: 50 in 2 places, all below massif's threshold (1.00%)\n"
        "#-----------\nsnapshot=2\n#-----------\ntime=7\nmem_heap_B=2100\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=empty\n"
        "#-----------\nsnapshot=3\n#-----------\ntime=9\nmem_heap_B=2000\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\nn2: 2000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n1: 1940 0x109175: big (m.c:3)\n  n0: 1930 0x1091B7: main (in /bin/m)\n n0: 50 in 2 places, all below massif's threshold (1.00%)\n"
        "#-----------\nsnapshot=4\n#-----------\ntime=9\nmem_heap_B=100\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=empty\n",
        "desc: xtree.produce_report\ncmd: ./m\ntime_unit: ms\n"
        "#-----------\nsnapshot=0\n#-----------\ntime=5\nmem_heap_B=10\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn1: 10 curB : currently allocated Bytes\n n0: 10 0x109175: big (m.c:3)\n"
        "#-----------\nsnapshot=1\n#-----------\ntime=5\nmem_heap_B=1\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn1: 1 curBk : currently allocated Blocks\n n0: 1 0x109175: big (m.c:3)\n"
        "#-----------\nsnapshot=2\n#-----------\ntime=5\nmem_heap_B=30\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn1: 30 totB : total allocated Bytes\n n0: 30 0x109175: big (m.c:3)\n"
        "#-----------\nsnapshot=3\n#-----------\ntime=5\nmem_heap_B=3\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn1: 3 totBk : total allocated Blocks\n n0: 3 0x109175: big (m.c:3)\n",
        "desc: --x\ncmd: ./m 1 2\ntime_unit: i\n"
        "#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=10\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=empty\n"
        "#-----------\nsnapshot=1\n#-----------\ntime=4\nmem_heap_B=900\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=detailed\nn2: 900 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n1: 840 0x109175: big (m.c:3)\n  n0: 830 0x1091B7: main (in /bin/m)\n n0: 50 in 2 places, all below massif's threshold (1.00%)\n",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
