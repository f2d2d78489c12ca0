/* SPDX-License-Identifier: MIT */
/* Records one program with the fake recorder and prints what came:
 *   fake_record [-s n_lent] [-m] [-S] [-l] [-g] [-d] RUNTIME PROG ARGS… */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/testing/fake_recorder.h"

static void print_tally(struct fake_recorder *r, uint32_t idx) {
        struct wire_process *p = fake_recorder_process(r, idx);
        struct fake_tally t;

        fake_recorder_tally(r, idx, &t);
        printf("process %u pid %llu parent %d threads %u early %llu runtime %llu KiB\n", idx,
               (unsigned long long)atomic_load(&p->state) >> 8, (int)p->parent_idx,
               1 + atomic_load(&p->n_threads_started),
               (unsigned long long)atomic_load(&p->n_early_events),
               (unsigned long long)atomic_load(&p->runtime_bytes) / 1024);
        printf("  allocations %llu frees %llu reallocations %llu failed %llu unknown_frees %llu"
               " double %llu\n",
               (unsigned long long)t.allocations, (unsigned long long)t.frees,
               (unsigned long long)t.reallocations, (unsigned long long)t.failed,
               (unsigned long long)t.unknown_frees, (unsigned long long)t.double_allocations);
        printf("  bytes %llu peak %llu live %llu in %llu blocks; size mismatches %llu\n",
               (unsigned long long)t.bytes, (unsigned long long)t.peak_bytes,
               (unsigned long long)t.live_bytes, (unsigned long long)t.live_blocks,
               (unsigned long long)t.size_mismatches);
        printf("  stacks %llu complete %llu nested %llu modules %llu kinds",
               (unsigned long long)t.n_stacks, (unsigned long long)t.complete,
               (unsigned long long)t.nested, (unsigned long long)t.modules);
        for (unsigned k = 0; k < WIRE_N_KINDS; k++)
                if (t.n_kind[k])
                        printf(" %u:%llu", k, (unsigned long long)t.n_kind[k]);
        printf("\n");
}

int main(int argc, char **argv) {
        struct fake_options options = {0};
        struct fake_recorder r;
        int opt, status;
        bool dump = false;

        while ((opt = getopt(argc, argv, "+s:mSlgdDf")) != -1) {
                switch (opt) {
                case 's': options.n_lent_max = (uint32_t)atoi(optarg); break;
                case 'm': options.clock = WIRE_CLOCK_MONOTONIC; break;
                case 'S': options.is_stuck = true; break;
                case 'l': options.flags |= WIRE_LOSSY; break;
                case 'f': options.flags |= WIRE_FREE_STACKS; break;
                case 'g': options.frees_slots = true; break;
                case 'd': options.discards = true; break;
                case 'D': dump = true; break;
                default: return 2;
                }
        }
        if (argc - optind < 2)
                return 2;
        fake_recorder_open(&r, &options);
        status = fake_recorder_run(&r, strcmp(argv[optind], "-") ? argv[optind] : NULL,
                                   argv + optind + 1);
        fake_recorder_close(&r);
        printf("status %#x hellos %u records %llu words %llu known %llu broken %llu lost %llu slots %u\n",
               (unsigned)status, r.n_hellos, (unsigned long long)r.n_records,
               (unsigned long long)r.n_words, (unsigned long long)r.n_known,
               (unsigned long long)r.n_broken, (unsigned long long)fake_recorder_n_lost(&r),
               atomic_load(&r.header->n_slots_used));
        for (uint32_t i = 0; i < fake_recorder_n_processes(&r); i++)
                print_tally(&r, i);
        for (size_t i = 0; dump && i < r.n_events; i++) {
                const struct fake_event *e = &r.events[i];

                printf("%llu p%u s%u%s kind %u form %u end %u %llx %llx %llx"
                       " depth %u pcs %llx %llx %llx\n",
                       (unsigned long long)e->time, e->process, e->slot, e->is_nested ? "n" : "",
                       e->kind, e->form, e->end, (unsigned long long)e->word[0],
                       (unsigned long long)e->word[1], (unsigned long long)e->word[2], e->n_pcs,
                       (unsigned long long)e->pc[0], (unsigned long long)e->pc[1],
                       (unsigned long long)e->pc[2]);
        }
        fake_recorder_done(&r);
        return 0;
}
