/* SPDX-License-Identifier: MIT */
/* Writes the seeds of perf_record_fuzz: one record of each kind, all of them behind one another, and some that go over the ring's end.
 *
 *   perf_record_seeds FOLDER */
#include <stdio.h>
#include <stdlib.h>

#include "tick/testing/made_record.h"

static void add_text(struct made_record *m, const char *text) {
        snprintf((char *)m->bytes + m->n, 32, "%s", text);
        m->n += (strlen(text) + 8) / 8 * 8;
}

static struct made_record make(int kind) {
        struct made_record m;

        switch (kind) {
        case 0: return made_sample(1000);
        case 1:
                m = made_begin(PERF_RECORD_MMAP2, 0);
                made_add_pair(&m, 11, 12);
                for (int i = 0; i < 6; i++)
                        made_add(&m, 0x1000);
                made_add_pair(&m, 5, 2);
                add_text(&m, "/lib/x.so");
                break;
        case 2:
                m = made_begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
                made_add_pair(&m, 11, 12);
                add_text(&m, "worker");
                break;
        case 3:
        case 4:
                m = made_begin(kind == 3 ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0);
                made_add_pair(&m, 21, 11);
                made_add_pair(&m, 22, 12);
                made_add(&m, 7);
                break;
        case 5:
                m = made_begin(PERF_RECORD_LOST, 0);
                made_add(&m, 77);
                made_add(&m, 3);
                break;
        case 6: m = made_begin(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT); break;
        default: m = made_begin(PERF_RECORD_THROTTLE, 0);
        }
        made_end_with_trailer(&m, 1000 + (uint64_t)kind);
        return m;
}

int main(int argc, char **argv) {
        char path[4096];

        if (argc < 2)
                return 2;
        for (int seed = 0; seed < 10; seed++) { /* the first eight: one kind alone */
                FILE *f;

                snprintf(path, sizeof(path), "%s/%d", argv[1], seed);
                f = fopen(path, "wb");
                if (!f)
                        abort();
                fputc(seed == 9 ? 255 : 0, f);
                fputc(0, f);
                for (int kind = 0; kind < 8; kind++) {
                        struct made_record m = make(kind);

                        if (seed >= 8 || seed == kind)
                                fwrite(m.bytes, 1, m.n, f);
                }
                fclose(f);
        }
        return 0;
}
