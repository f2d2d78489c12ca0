/* SPDX-License-Identifier: MIT */
#include "record/recorder_graph.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attach/frozen.h"
#include "attach/frozen_check.h"
#include "attach/frozen_frames.h"
#include "attach/machine.h"
#include "attach/malloc_heap.h"
#include "attach/other_heaps.h"
#include "base/system_clock.h"
#include "base/units.h"
#include "pipeline/pipeline.h"
#include "reach/heap_functions.h"
#include "reach/process_graph.h"
#include "reach/process_image.h"
#include "record/images.h"
#include "record/mapped_files.h"
#include "record/recorder_ticks.h"
#include "record/second_look.h"
#include "trace/recorder_end.h"
#include "trace/writer.h"
#include "wire/sys.h"

enum {
        GRAPH_NICE = 10, /* the thread that reads gives way to the program */
        GRAPH_POLL_NS = 20 * 1000 * 1000,
        GRAPH_MAX_VARIABLES = 32768, /* words that are named */
};

#define LAST_GRAPH "exit" /* the process is about to end: nothing in it waits */

struct recorder_graph {
        struct recorder *recorder;
        struct graph_wish wish;
        uint32_t process_idx, trace_process;
        struct frozen frozen;
        struct maps before; /* its mappings, before it was copied */
        bool awaits_cut, is_cut, is_reading;
        bool keeps_process; /* which is about to end: it has memory that the copy lacks */
        uint64_t time_ns;
        uint64_t copied_ns; /* when it was, by the clock */
        VEC(struct found_block) blocks;
        uint64_t n_live, live_bytes; /* that were recorded */
        VEC(struct reach_thread) threads;
        VEC(struct reach_range) own;
        VEC(struct thread_name { char text[16]; }) names;
        pthread_t reader;
        atomic_bool is_done;
        bytes_buf bytes;              /* the graph, when it is done */
        struct intern_space *space;   /* which module lay where; owned */
        frozen_frame_list frames;     /* of all threads */
        VEC(uint64_t) variables;      /* words of modules that point to blocks, by address */
        heap_function_list functions; /* by which types have a name */
        bool has_heads;
        uint32_t n_nodes;
        int result;
        struct err err;
};

/* ---- names of what holds ---------------------------------------------------------------------------------- */

/* Of a module with more words that point to blocks, some are named: the names say how far each variable reaches. */
static void take_variables(struct recorder_graph *g, const struct heap_graph *h) {
        uint32_t n = 0, step;

        for (uint32_t i = 0; i < h->graph.n_roots; i++)
                n += h->roots[i].kind == ROOT_DATA;
        step = n / GRAPH_MAX_VARIABLES + 1;
        n = 0;
        for (uint32_t i = 0; i < h->graph.n_roots; i++)
                if (h->roots[i].kind == ROOT_DATA && n++ % step == 0)
                        vec_push(&g->variables, h->roots[i].begin);
}

static int by_place(const void *a, const void *b) {
        const struct heap_place *x = a, *y = b;

        return x->address < y->address ? -1 : x->address > y->address;
}

static uint32_t add_module(void *pipeline, const struct trace_module *m) {
        return pipeline_add_file(pipeline, m);
}

/* By what events told of modules; what no call path has led through, by what was mapped. */
static uint32_t locate(struct recorder_graph *g, struct mapped_files *files, uint64_t address) {
        struct pipeline *p = g->recorder->pipeline;
        uint32_t location = pipeline_locate(p, g->space, address);
        const struct mapped_file *file;

        if (location != PIPELINE_NO_LOCATION)
                return location;
        file = mapped_files_at(files, &g->before, address);
        return file ? pipeline_locate_at(p, file->module, address - file->bias)
                    : PIPELINE_NO_LOCATION;
}

/* In the recorder's own thread: locations are the pipeline's. */
static void put_places(struct recorder_graph *g) {
        VEC(struct heap_place) places = {0};
        struct mapped_files files = {.pid = g->frozen.pid,
                                     .add_module = add_module,
                                     .ctx = g->recorder->pipeline};

        for (size_t i = 0; i < g->variables.n; i++) {
                uint64_t address = g->variables.items[i];
                uint32_t location = locate(g, &files, address);

                if (location != PIPELINE_NO_LOCATION)
                        vec_push(&places, (struct heap_place){.address = address,
                                                              .location = location,
                                                              .kind = PLACE_VARIABLE});
        }
        for (size_t i = 0; i < g->frames.n; i++) {
                const struct frozen_frame *f = &g->frames.items[i];
                uint32_t location = f->pc ? locate(g, &files, f->pc) : PIPELINE_NO_LOCATION;

                vec_push(&places,
                         (struct heap_place){.address = f->address,
                                             .location = location == PIPELINE_NO_LOCATION
                                                                 ? HEAP_NO_LOCATION
                                                                 : location,
                                             .kind = f->is_end ? PLACE_STACK_END : PLACE_FRAME});
        }
        for (size_t i = 0; i < g->functions.n; i++) {
                uint32_t location = locate(g, &files, g->functions.items[i]);

                if (location != PIPELINE_NO_LOCATION)
                        vec_push(&places, (struct heap_place){.address = g->functions.items[i],
                                                              .location = location,
                                                              .kind = PLACE_FUNCTION});
        }
        mapped_files_done(&files);
        if (places.n)
                qsort(places.items, places.n, sizeof(places.items[0]), by_place);
        heap_graph_encode_places(places.items, (uint32_t)places.n, &g->bytes);
        vec_free(&places);
}

/* ---- the thread that reads ------------------------------------------------------------------------------- */

/* Sorted, as roots want it. */
static int by_begin(const void *a, const void *b) {
        const struct reach_range *x = a, *y = b;

        return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void add_prior(struct recorder_graph *g, uint64_t address, uint64_t size_bytes) {
        vec_push(&g->blocks, (struct found_block){address, size_bytes, HEAP_NO_SEQ, REACH_NO_SITE});
}

/* malloc's own lists lead to headers of chunks, whose first word is the end of the block before. */
static void take_arenas(struct recorder_graph *g, bool wants_blocks, uint64_t *unwalked_bytes) {
        struct malloc_heap heap;

        if (malloc_heap_read(&heap, g->frozen.copy, g->frozen.mem_fd, wants_blocks))
                vec_push(&g->own,
                         (struct reach_range){heap.arenas.items[0].at, heap.arenas.items[0].end});
        for (size_t i = 0; i < heap.blocks.n; i++)
                add_prior(g, heap.blocks.items[i].address, heap.blocks.items[i].size_bytes);
        *unwalked_bytes = heap.unwalked_bytes;
        malloc_heap_done(&heap);
}

/* What jemalloc knows of its extents leads to each large block, and to the first of each slab. False: it cannot be listed. */
static bool take_others(struct recorder_graph *g, bool wants_blocks) {
        struct other_heaps heaps;
        const char *missing;

        other_heaps_read(&heaps, g->frozen.copy, g->frozen.mem_fd);
        for (size_t i = 0; i < heaps.list.own.n; i++)
                vec_push(&g->own, (struct reach_range){heaps.list.own.items[i].begin,
                                                       heaps.list.own.items[i].end});
        for (size_t i = 0; wants_blocks && i < heaps.list.blocks.n; i++)
                add_prior(g, heaps.list.blocks.items[i].address,
                          heaps.list.blocks.items[i].size_bytes);
        missing = wants_blocks ? heaps.missing : NULL;
        other_heaps_done(&heaps);
        if (missing)
                err_set(&g->err, -EAGAIN,
                        "cannot list the blocks of %s that were not recorded; a thread may have been inside it: try again",
                        missing);
        return !missing;
}

/* Of a process that was attached to or is sampled, blocks that nobody saw hold others, too: they are those that its allocators have and the recording does not. Where both have one,
 * the recording's, which is not larger, counts (process_graph.h). */
static int take_heaps(struct recorder_graph *g, uint64_t *ret_unwalked_bytes) {
        const struct run_options *o = g->recorder->config->options;
        bool has_unseen = o->attached || o->sample_bytes, is_whole;

        take_arenas(g, has_unseen, ret_unwalked_bytes);
        is_whole = take_others(g, has_unseen);
        if (g->own.n)
                qsort(g->own.items, g->own.n, sizeof(g->own.items[0]), by_begin);
        return is_whole ? 0 : -EAGAIN;
}

static void *graph_read(void *arg) {
        struct recorder_graph *g = arg;
        struct heap_graph h = {0};
        uint64_t unwalked_bytes = 0;
        struct process_graph p = {
                .pid = g->frozen.copy,
                .mem_fd = g->frozen.mem_fd,
                .living = g->frozen.pid,
                .before = &g->before,
                .threads = g->threads.items,
                .thread_names = (char(*)[16])g->names.items,
                .n_threads = g->threads.n,
                .has_seqs = true,
                .below_sp_bytes = machine_own.below_stack_bytes,
        };

        setpriority(PRIO_PROCESS, 0, GRAPH_NICE);
        g->result = take_heaps(g, &unwalked_bytes);
        p.blocks = g->blocks.items;
        p.n_blocks = g->blocks.n;
        p.own = g->own.items;
        p.n_own = g->own.n;
        if (g->result == 0)
                g->result = process_graph_make(&p, &h, &g->err);
        if (g->result == 0)
                frozen_frames_find(&g->frozen, &g->frames);
        if (g->result == 0 && h.n_heads && g->recorder->config->options->cpu_rate_hz &&
            strcmp(g->wish.name, LAST_GRAPH) != 0)
                second_look_take(&h, g->frozen.mem_fd, g->frozen.pid, g->copied_ns);
        frozen_end(&g->frozen, &(struct err){0});
        if (g->result == 0) {
                h.pause_ns = g->frozen.pause_ns;
                h.n_unsettled = (uint32_t)g->threads.n;
                h.unread_bytes += unwalked_bytes;
                g->n_nodes = reach_n_nodes(&h.graph);
                heap_graph_encode(&h, &g->bytes);
                take_variables(g, &h);
                heap_functions_find(&h, &g->functions);
                g->has_heads = h.n_heads > 0;
                heap_graph_done(&h);
        }
        atomic_store(&g->is_done, true);
        return NULL;
}

/* ---- the moment ------------------------------------------------------------------------------------------- */

/* Of a thread that ends the process: from where its frames are the program's. What libraries do at the end holds nothing, and what an ended
 * function left on the stack is not held either. 0: it is not at its end. */
static uint64_t exit_floor(const struct recorder_graph *g, pid_t tid) {
        const struct wire_process *p = shm_process(g->recorder->config->shm, g->process_idx);
        struct wire_frame frames[WIRE_N_EXIT_FRAMES];
        struct err unsaid = {0};
        struct maps maps;
        uint64_t floor = 0;

        if (atomic_load(&p->last_look) != WIRE_LOOK_AWAITED || (pid_t)p->exit_tid != tid ||
            maps_read(&maps, g->frozen.copy, &unsaid) < 0)
                return 0;
        if (pread(g->frozen.mem_fd, frames, sizeof(frames),
                  (off_t)(p->own_addr + offsetof(struct wire_own, exit_frames))) !=
            (ssize_t)sizeof(frames))
                memset(frames, 0, sizeof(frames));
        for (unsigned i = 0; i < WIRE_N_EXIT_FRAMES && frames[i].pc; i++) {
                const char *path = maps_path_at(&maps, frames[i].pc);

                floor = frames[i].sp;
                if (!strstr(path, "/libsilt.so") && !strstr(path, "/libc.so.") &&
                    !strstr(path, "/ld-linux"))
                        break;
        }
        maps_done(&maps);
        return floor;
}

/* The runtime's own memory, as the copy has it: it is full of addresses that it saw. */
static void take_own(struct recorder_graph *g) {
        struct wire_range rows[WIRE_N_RANGES];
        uint64_t at = shm_process(g->recorder->config->shm, g->process_idx)->own_addr;
        ssize_t n = at ? pread(g->frozen.mem_fd, rows, sizeof(rows),
                               (off_t)(at + offsetof(struct wire_own, ranges)))
                       : 0;

        for (size_t i = 0; i < (size_t)MAX(n, (ssize_t)0) / sizeof(rows[0]); i++)
                if (rows[i].begin && rows[i].size_bytes < UINT64_MAX - rows[i].begin)
                        vec_push(&g->own, (struct reach_range){rows[i].begin,
                                                               rows[i].begin + rows[i].size_bytes});
}

static void take_threads(struct recorder_graph *g) {
        for (size_t i = 0; i < g->frozen.threads.n; i++) {
                const struct frozen_thread *t = &g->frozen.threads.items[i];
                struct reach_thread one = {.tid = t->tid, .sp = t->sp, .n_registers = t->n_regs};
                struct thread_name name = {0};

                uint64_t floor = exit_floor(g, t->tid);

                memcpy(one.registers, t->regs, sizeof(one.registers));
                if (floor > one.sp) {
                        one.sp = floor;
                        one.n_registers = 0;
                }
                memcpy(name.text, t->name, sizeof(name.text));
                vec_push(&g->threads, one);
                vec_push(&g->names, name);
        }
}

/* All threads stand still: the cut is here. */
static void graph_at_moment(void *ctx, const struct frozen *f) {
        struct recorder_graph *g = ctx;

        (void)f;
        g->awaits_cut = pipeline_begin_cut(g->recorder->pipeline);
        if (!g->awaits_cut)
                return;
        pipeline_keep_until_cut(g->recorder->pipeline, g->process_idx);
        snapshots_begin(&g->recorder->snapshots);
        snprintf(g->wish.name, sizeof(g->wish.name), "%s",
                 g->recorder->snapshots.current.items[g->recorder->snapshots.current.n - 1].name);
}

static void take_block(void *ctx, const struct pipeline_block *b) {
        struct recorder_graph *g = ctx;

        vec_push(&g->blocks, (struct found_block){b->address, b->size_bytes, b->seq, b->stack});
}

void recorder_graph_on_cut(struct recorder *r, uint64_t time_ns) {
        struct recorder_graph *g = r->graph;

        if (!g || !g->awaits_cut)
                return;
        g->awaits_cut = false;
        g->is_cut = true;
        g->time_ns = time_ns;
        g->space = pipeline_ref_space(r->pipeline, g->process_idx);
        pipeline_walk_live(r->pipeline, g->process_idx, take_block, g);
        g->n_live = g->blocks.n;
        for (size_t i = 0; i < g->n_live; i++)
                g->live_bytes += g->blocks.items[i].size_bytes;
}

/* ---- one graph, from wish to answer ------------------------------------------------------------------------ */

static void graph_answer(struct recorder *r, const struct graph_wish *wish,
                         const struct recorder_graph *g, const char *why) {
        struct snapshot_answer a = {.magic = SNAPSHOT_MAGIC,
                                    .version = SNAPSHOT_VERSION,
                                    .result = SNAPSHOT_REFUSED};

        if (wish->caller < 0)
                return;
        if (why) {
                memcpy(a.text, why, MIN(strlen(why), sizeof(a.text) - 1));
        } else {
                a.result = SNAPSHOT_DONE;
                a.time_ns = g->time_ns;
                a.live_blocks = g->n_live;
                a.live_bytes = g->live_bytes;
                a.pause_ns = g->frozen.pause_ns;
                memcpy(a.name, wish->name, sizeof(wish->name));
                recorder_trace_path(r, a.path, sizeof(a.path));
        }
        snapshot_server_answer(&r->snapshot_server, wish->caller, &a);
}

static struct wire_process *entry_of(const struct recorder *r, uint32_t process_idx) {
        return shm_process(r->config->shm, process_idx);
}

/* It may go. */
static void let_go(const struct recorder *r, uint32_t process_idx) {
        struct wire_process *p = entry_of(r, process_idx);

        if (atomic_load(&p->last_look) != WIRE_LOOK_AWAITED)
                return;
        atomic_store(&p->last_look, WIRE_LOOK_DONE);
        sys_futex_wake((void *)&p->last_look, INT_MAX);
}

static void graph_free(struct recorder *r) {
        struct recorder_graph *g = r->graph;

        if (g->keeps_process)
                let_go(r, g->process_idx);
        maps_done(&g->before);
        vec_free(&g->blocks);
        vec_free(&g->threads);
        vec_free(&g->own);
        vec_free(&g->names);
        vec_free(&g->bytes);
        vec_free(&g->variables);
        vec_free(&g->functions);
        vec_free(&g->frames);
        pipeline_unref_space(g->space);
        free(g);
        r->graph = NULL;
}

static void graph_refuse(struct recorder *r, const struct graph_wish *wish, const char *why) {
        recorder_log(r, "no graph: %s", why);
        if (wish->caller < 0)
                recorder_note(r, GRAPH_FAILED_NOTE "%s", why);
        graph_answer(r, wish, NULL, why);
}

static void graph_refuse_no_room(struct recorder *r, const struct graph_wish *wish) {
        uint64_t most_bytes = r->config->options->max_trace_bytes;
        struct unit_text t;
        char why[160];

        snprintf(
                why, sizeof(why),
                most_bytes
                        ? "a trace of at most %s has no room for the graph: a larger --max-size has"
                        : "the trace has no room for the graph: is the disk full?",
                unit_bytes(&t, most_bytes));
        graph_refuse(r, wish, why);
}

static void graph_begin(struct recorder *r, struct graph_wish wish) {
        struct image *one = wish.pid ? images_find_pid(&r->images, wish.pid) : NULL;
        struct recorder_graph *g;
        struct err err = {0};

        if (!one) /* the trace was named, or silt itself: of all the program that was started */
                one = r->images.list.n ? r->images.list.items[0] : NULL;
        if (!one || one->is_ending || one->gone_ns) {
                graph_refuse(r, &wish, "the process has ended");
                return;
        }
        if (frozen_check(one->pid, &err) < 0 ||
            snapshots_wish(&r->snapshots, wish.name, strlen(wish.name), -1, &err) < 0) {
                graph_refuse(r, &wish, err.text);
                return;
        }
        g = calloc(1, sizeof(*g));
        if (!g) {
                graph_refuse(r, &wish, "silt is out of memory");
                return;
        }
        *g = (struct recorder_graph){.recorder = r,
                                     .wish = wish,
                                     .process_idx = one->process_idx,
                                     .trace_process = one->trace_process};
        r->graph = g;
        if (maps_read(&g->before, one->pid, &err) < 0 ||
            frozen_make(&g->frozen, one->pid, graph_at_moment, g, &err) < 0) {
                graph_refuse(r, &wish, err.text);
                graph_free(r);
                return;
        }
        g->copied_ns = clock_now_ns();
        recorder_leave_out_ticks(r, g->frozen.copy);
        take_threads(g);
        take_own(g);
}

static void graph_end(struct recorder *r) {
        struct recorder_graph *g = r->graph;

        if (g->result == 0)
                put_places(g);
        if (g->result < 0)
                graph_refuse(r, &g->wish, g->err.text);
        else if (!trace_put_graph(r->writer,
                                  &(struct trace_graph){.process = g->trace_process,
                                                        .time_ns = g->time_ns,
                                                        .n_bytes = g->bytes.n,
                                                        .has_heads = g->has_heads},
                                  g->bytes.items))
                graph_refuse_no_room(r, &g->wish);
        else
                graph_answer(r, &g->wish, g, NULL);
        graph_free(r);
}

/* The cut is made, and its slice is in the file: the blocks' stacks are defined there. */
static void graph_start_reading(struct recorder *r) {
        struct recorder_graph *g = r->graph;

        g->is_reading = true;
        if (pthread_create(&g->reader, NULL, graph_read, g) == 0)
                return;
        graph_read(g);
        g->reader = pthread_self();
}

void recorder_want_graph(struct recorder *r, const struct snapshot_request *q, int caller) {
        struct graph_wish wish = {.caller = caller, .pid = (pid_t)q->pid};

        memcpy(wish.name, q->name, MIN((size_t)q->name_bytes, sizeof(wish.name) - 1));
        vec_push(&r->graph_wishes, wish);
}

/* ---- the last look ---------------------------------------------------------------------------------------- */

/* What children do not get (MADV_DONTFORK) is read from the process, which has to be there for that. */
static bool needs_process(const struct recorder_graph *g) {
        const struct process_image_source source = {g->frozen.copy, g->frozen.mem_fd, g->frozen.pid,
                                                    &g->before};
        struct process_image image = {0};
        struct err unsaid = {0};
        bool is_needed = process_image_open(&image, &source, &unsaid) == 0 &&
                         process_image_needs_living(&image, g->own.items, g->own.n);

        process_image_close(&image);
        return is_needed;
}

/* Of processes that are about to end, the program that was started is looked at, or what it became by exec. */
static void heed_ends(struct recorder *r) {
        for (size_t i = 0; i < r->images.list.n; i++) {
                const struct image *one = r->images.list.items[i];
                bool is_main = one->pid == r->images.first_pid;
                bool is_wanted = is_main && !r->graph && !pipeline_is_cutting(r->pipeline);

                if (atomic_load(&entry_of(r, one->process_idx)->last_look) != WIRE_LOOK_AWAITED)
                        continue;
                if (is_wanted)
                        graph_begin(r, (struct graph_wish){.caller = -1,
                                                           .pid = one->pid,
                                                           .name = LAST_GRAPH});
                if (is_wanted && r->graph)
                        r->graph->keeps_process = needs_process(r->graph);
                if ((is_wanted && !(r->graph && r->graph->keeps_process)) || !is_main)
                        let_go(r, one->process_idx);
        }
}

uint64_t recorder_graphs_due(const void *ctx) {
        const struct recorder *r = ctx;

        return r->graph || r->graph_wishes.n || r->config->options->leaks ? OBSERVER_NEXT_ROUND
                                                                          : OBSERVER_NEVER;
}

uint64_t recorder_keep_graphs(void *ctx, uint64_t now_ns) {
        struct recorder *r = ctx;
        struct recorder_graph *g = r->graph;

        (void)now_ns;
        if (r->config->options->leaks)
                heed_ends(r);
        g = r->graph;
        if (g && g->is_cut && !g->is_reading && !pipeline_is_cutting(r->pipeline))
                graph_start_reading(r);
        else if (g && g->is_reading && atomic_load(&g->is_done)) {
                if (!pthread_equal(g->reader, pthread_self()))
                        pthread_join(g->reader, NULL);
                graph_end(r);
        } else if (!g && r->graph_wishes.n && !pipeline_is_cutting(r->pipeline)) {
                struct graph_wish wish = r->graph_wishes.items[0];

                memmove(r->graph_wishes.items, r->graph_wishes.items + 1,
                        --r->graph_wishes.n * sizeof(wish));
                graph_begin(r, wish);
        }
        return OBSERVER_NEVER;
}

bool recorder_is_graph_copy(const struct recorder *r, pid_t pid) {
        return r->graph && r->graph->frozen.copy == pid;
}

void recorder_finish_graphs(struct recorder *r) {
        struct recorder_graph *g = r->graph;

        if (g && g->is_cut && !g->is_reading)
                graph_start_reading(r);
        if (g && g->is_reading) {
                if (!pthread_equal(g->reader, pthread_self()))
                        pthread_join(g->reader, NULL);
                graph_end(r);
        } else if (g) {
                frozen_end(&g->frozen, &(struct err){0});
                graph_refuse(r, &g->wish, "the recording ended");
                graph_free(r);
        }
        for (size_t i = 0; i < r->graph_wishes.n; i++)
                graph_refuse(r, &r->graph_wishes.items[i], "the recording ended");
        vec_free(&r->graph_wishes);
}
