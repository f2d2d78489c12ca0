/* SPDX-License-Identifier: MIT */
#include "record/unrecorded_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/frozen.h"
#include "attach/frozen_check.h"
#include "attach/machine.h"
#include "attach/malloc_heap.h"
#include "attach/prior_scan.h"
#include "reach/process_graph.h"

/* Blocks of jemalloc and mimalloc are known in sum alone: a graph without them would call much lost that is not. */
static int check_allocator(pid_t pid, struct unrecorded *what, struct err *reterr) {
        struct target t;
        struct prior prior;
        const char *other;
        int r = target_open(&t, pid, reterr);

        if (r < 0)
                return r;
        memcpy(what->name, t.name, MIN(sizeof(what->name) - 1, strlen(t.name)));
        prior_look(&t, &prior);
        target_close(&t);
        other = prior.has_jemalloc && prior.jemalloc.used_bytes   ? "jemalloc"
                : prior.has_mimalloc && prior.mimalloc.used_bytes ? "mimalloc"
                                                                  : NULL;
        if (other)
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s) allocates with %s, whose blocks silt cannot list: record it with 'silt attach %d'",
                        (int)pid, what->name, other, (int)pid);
        if (!prior.has_arenas)
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s) has no malloc that silt can read: record it with 'silt attach %d'",
                        (int)pid, what->name, (int)pid);
        return 0;
}

struct parts {
        VEC(struct found_block) blocks;
        VEC(struct reach_thread) threads;
        VEC(struct part_name { char text[16]; }) names;
        struct reach_range own; /* the main arena's variables */
        struct maps before;     /* of the process, before it was copied */
};

static bool take_parts(struct parts *p, const struct frozen *f, struct unrecorded *what) {
        struct malloc_heap heap;
        bool is_found = malloc_heap_read(&heap, f->copy, f->mem_fd, true);

        for (size_t i = 0; i < heap.blocks.n; i++)
                vec_push(&p->blocks,
                         (struct found_block){heap.blocks.items[i].address,
                                              heap.blocks.items[i].size_bytes, 0, REACH_NO_SITE});
        if (is_found)
                p->own = (struct reach_range){heap.arenas.items[0].at, heap.arenas.items[0].end};
        what->n_unknown_mapped = heap.n_unknown_mapped;
        what->unwalked_bytes = heap.unwalked_bytes;
        malloc_heap_done(&heap);
        for (size_t i = 0; i < f->threads.n; i++) {
                const struct frozen_thread *t = &f->threads.items[i];
                struct reach_thread one = {.tid = t->tid, .sp = t->sp, .n_registers = t->n_regs};
                struct part_name name = {0};

                memcpy(one.registers, t->regs, sizeof(one.registers));
                memcpy(name.text, t->name, sizeof(name.text));
                vec_push(&p->threads, one);
                vec_push(&p->names, name);
        }
        return is_found;
}

static int read_copy(const struct frozen *f, struct parts *parts, struct heap_graph *ret,
                     struct err *reterr) {
        struct process_graph p = {
                .pid = f->copy,
                .mem_fd = f->mem_fd,
                .living = f->pid,
                .before = &parts->before,
                .threads = parts->threads.items,
                .thread_names = (char(*)[16])parts->names.items,
                .n_threads = parts->threads.n,
                .blocks = parts->blocks.items,
                .n_blocks = parts->blocks.n,
                .own = &parts->own,
                .n_own = 1,
                .below_sp_bytes = machine_own.below_stack_bytes,
        };
        int r = process_graph_make(&p, ret, reterr);

        if (r >= 0)
                ret->pause_ns = f->pause_ns;
        return r;
}

int unrecorded_graph_make(pid_t pid, struct heap_graph *ret, struct unrecorded *ret_what,
                          struct err *reterr) {
        struct parts parts = {0};
        struct frozen f;
        int r;

        *ret_what = (struct unrecorded){0};
        *ret = (struct heap_graph){0};
        r = frozen_check(pid, reterr);
        if (r >= 0)
                r = check_allocator(pid, ret_what, reterr);
        if (r >= 0)
                r = maps_read(&parts.before, pid, reterr);
        if (r < 0)
                return r;
        r = frozen_make(&f, pid, NULL, NULL, reterr);
        if (r < 0) {
                maps_done(&parts.before);
                return r;
        }
        if (take_parts(&parts, &f, ret_what))
                r = read_copy(&f, &parts, ret, reterr);
        else
                r = err_set(reterr, -ENOTSUP, "process %d (%s) has no malloc that silt can read",
                            (int)pid, ret_what->name);
        frozen_end(&f, &(struct err){0});
        vec_free(&parts.blocks);
        vec_free(&parts.threads);
        vec_free(&parts.names);
        maps_done(&parts.before);
        vec_free(&f.threads);
        return r;
}
