/* SPDX-License-Identifier: MIT */
#include "record/unrecorded_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/frozen.h"
#include "attach/frozen_check.h"
#include "attach/layouts.h"
#include "attach/machine.h"
#include "attach/malloc_heap.h"
#include "attach/other_heaps.h"
#include "attach/target.h"
#include "attach/tracee.h"
#include "base/system_clock.h"
#include "base/units.h"
#include "reach/process_graph.h"
#include "reach/settled_graph.h"
#include "record/proc.h"
#include "record/scan_progress.h"

enum {
        N_TRIES = 8, /* a thread may be inside its allocator when it is stopped */
        MAX_LOOKS = 6,
        FEW_LOOKS = 3, /* where one takes long */
        LONG_MS = 500,
        FIRST_PAUSE_MS = 5,       /* between two; each is twice the last */
        MIN_ANON_BYTES = 1 << 20, /* less is variables and stacks in any program */
};

struct parts {
        VEC(struct found_block) blocks;
        VEC(struct reach_thread) threads;
        VEC(struct part_name { char text[16]; }) names;
        VEC(struct reach_range) own; /* in which allocators know their blocks */
        struct maps before;          /* of the process, before it was copied */
};

static void parts_done(struct parts *p) {
        vec_free(&p->blocks);
        vec_free(&p->threads);
        vec_free(&p->names);
        vec_free(&p->own);
        maps_done(&p->before);
}

static void add_explained(struct unrecorded *what, const heap_frees *frees, uint64_t block_bytes) {
        what->explained_bytes += block_bytes;
        for (size_t i = 0; i < frees->n; i++)
                what->explained_bytes += frees->items[i].size_bytes;
}

static bool take_libc(struct parts *p, const struct frozen *f, struct unrecorded *what) {
        struct malloc_heap heap;
        bool is_found = malloc_heap_read(&heap, f->copy, f->mem_fd, true);
        uint64_t n_bytes = 0;

        for (size_t i = 0; i < heap.blocks.n; i++) {
                vec_push(&p->blocks,
                         (struct found_block){heap.blocks.items[i].address,
                                              heap.blocks.items[i].size_bytes, 0, REACH_NO_SITE});
                n_bytes += heap.blocks.items[i].size_bytes + sizeof(uint64_t); /* its header */
        }
        add_explained(what, &heap.frees, n_bytes);
        if (is_found)
                vec_push(&p->own,
                         (struct reach_range){heap.arenas.items[0].at, heap.arenas.items[0].end});
        what->n_unknown_mapped = heap.n_unknown_mapped;
        what->unwalked_bytes = heap.unwalked_bytes;
        malloc_heap_done(&heap);
        return is_found;
}

/* A graph without the blocks of an allocator that is there would call much lost that is not. */
static bool take_others(struct parts *p, const struct frozen *f, struct unrecorded *what,
                        const char **ret_missing) {
        struct other_heaps heaps;
        uint64_t n_bytes = 0;
        bool has_blocks;

        other_heaps_read(&heaps, f->copy, f->mem_fd);
        for (size_t i = 0; i < heaps.list.blocks.n; i++) {
                vec_push(&p->blocks, (struct found_block){heaps.list.blocks.items[i].address,
                                                          heaps.list.blocks.items[i].size_bytes, 0,
                                                          REACH_NO_SITE});
                n_bytes += heaps.list.blocks.items[i].size_bytes;
        }
        add_explained(what, &heaps.list.frees, n_bytes);
        for (size_t i = 0; i < heaps.list.own.n; i++)
                vec_push(&p->own, (struct reach_range){heaps.list.own.items[i].begin,
                                                       heaps.list.own.items[i].end});
        *ret_missing = heaps.missing;
        has_blocks = heaps.list.blocks.n > 0;
        other_heaps_done(&heaps);
        return has_blocks;
}

static void take_threads(struct parts *p, const struct frozen *f) {
        for (size_t i = 0; i < f->threads.n; i++) {
                const struct frozen_thread *t = &f->threads.items[i];
                struct reach_thread one = {.tid = t->tid, .sp = t->sp, .n_registers = t->n_regs};
                struct part_name name = {0};

                memcpy(one.registers, t->regs, sizeof(one.registers));
                memcpy(name.text, t->name, sizeof(name.text));
                vec_push(&p->threads, one);
                vec_push(&p->names, name);
        }
}

/* -EAGAIN: another moment may do. */
static int take_parts(struct parts *p, const struct frozen *f, pid_t pid, struct unrecorded *what,
                      struct err *reterr) {
        const char *missing, *unread = layouts_known()->unread;
        bool has_libc, has_others;

        what->explained_bytes = 0;
        has_libc = take_libc(p, f, what);
        has_others = take_others(p, f, what, &missing);
        take_threads(p, f);
        if (missing)
                return err_set(
                        reterr, -EAGAIN,
                        "process %d (%s) allocates with %s, whose blocks silt cannot list%s%s%s: record it with 'silt attach %d'",
                        (int)pid, what->name, missing, unread[0] ? " (" : "", unread,
                        unread[0] ? " is no layout of an allocator)" : "", (int)pid);
        if (!has_libc && !has_others)
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s) has no malloc that silt can read: record it with 'silt attach %d'",
                        (int)pid, what->name, (int)pid);
        return 0;
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
                .own = parts->own.items,
                .n_own = parts->own.n,
                .below_sp_bytes = machine_own.below_stack_bytes,
        };
        struct scan_progress progress;
        int r;

        scan_progress_begin(&progress);
        p.done_bytes = &progress.done_bytes;
        p.all_bytes = &progress.all_bytes;
        r = process_graph_make(&p, ret, reterr);
        scan_progress_end(&progress);
        if (r >= 0)
                ret->pause_ns = f->pause_ns;
        return r;
}

static int make_once(pid_t pid, struct heap_graph *ret, struct unrecorded *what,
                     struct err *reterr) {
        struct parts parts = {0};
        struct proc_memory memory;
        struct frozen f;
        int r = maps_read(&parts.before, pid, reterr);

        if (r < 0)
                return r;
        what->anon_bytes = proc_memory(pid, &memory) ? memory.anon_bytes : 0;
        r = frozen_make(&f, pid, NULL, NULL, reterr);
        if (r < 0) {
                parts_done(&parts);
                return r;
        }
        r = take_parts(&parts, &f, pid, what, reterr);
        if (r >= 0)
                r = read_copy(&f, &parts, ret, reterr);
        frozen_end(&f, &(struct err){0});
        parts_done(&parts);
        vec_free(&f.threads);
        return r;
}

static int read_name(pid_t pid, struct unrecorded *what, struct err *reterr) {
        struct target t;
        int r = target_open(&t, pid, reterr);

        if (r < 0)
                return r;
        memcpy(what->name, t.name, MIN(sizeof(what->name) - 1, strlen(t.name)));
        target_close(&t);
        return 0;
}

static int make_some(pid_t pid, struct heap_graph *ret, struct unrecorded *what,
                     struct err *reterr) {
        int r = -EAGAIN;

        for (unsigned i = 0; r == -EAGAIN && i < N_TRIES; i++)
                r = make_once(pid, ret, what, reterr);
        return r;
}

/* Looks again while blocks seem to be lost: those that are not so each time were on their way, and are taken out. */
static int settle(pid_t pid, struct heap_graph *h, struct unrecorded *what, struct err *reterr) {
        uint64_t begin_ns = clock_now_ns(), n_bytes;
        unsigned pause_ms = FIRST_PAUSE_MS;
        loose_list loose = {0};
        int r = loose_find(h, &loose);

        for (unsigned i = 1; r >= 0 && loose_any_lost(&loose) && i < MAX_LOOKS;
             i++, pause_ms *= 2) {
                struct unrecorded ignored = *what;
                struct heap_graph again = {0};
                loose_list now = {0};

                if (i >= FEW_LOOKS && clock_now_ns() - begin_ns > LONG_MS * UINT64_C(1000000))
                        break;
                tracee_pause(pause_ms);
                r = make_some(pid, &again, &ignored, reterr);
                if (r < 0)
                        break;
                what->n_looks++;
                r = loose_find(&again, &now);
                loose_keep_common(&loose, &now);
                h->pause_ns = MAX(h->pause_ns, again.pause_ns);
                vec_free(&now);
                heap_graph_done(&again);
        }
        if (r >= 0)
                r = settle_graph(h, &loose, &what->n_moving_blocks, &n_bytes);
        if (r >= 0)
                what->moving_bytes = n_bytes;
        vec_free(&loose);
        return r;
}

bool unrecorded_is_unexplained(const struct unrecorded *what, char *text, size_t cap) {
        struct unit_text a, b;

        if (what->anon_bytes < MIN_ANON_BYTES || what->explained_bytes >= what->anon_bytes / 2)
                return false;
        snprintf(
                text, cap,
                "%s of the %s that %s has resident as its own memory are in no block that silt knows: variables, stacks, or memory that the program or an allocator unknown to silt divides itself",
                unit_bytes(&a, what->anon_bytes - what->explained_bytes),
                unit_bytes(&b, what->anon_bytes), what->name);
        return true;
}

int unrecorded_graph_make(pid_t pid, struct heap_graph *ret, struct unrecorded *ret_what,
                          struct err *reterr) {
        int r;

        *ret_what = (struct unrecorded){0};
        *ret = (struct heap_graph){0};
        r = frozen_check(pid, reterr);
        if (r >= 0)
                r = read_name(pid, ret_what, reterr);
        if (r < 0)
                return r;
        ret_what->n_looks = 1;
        r = make_some(pid, ret, ret_what, reterr);
        if (r < 0)
                return r;
        r = settle(pid, ret, ret_what, reterr);
        if (r < 0)
                heap_graph_done(ret);
        return r < 0 && !reterr->code ? err_set_errno(reterr, r, "cannot look again") : r;
}
