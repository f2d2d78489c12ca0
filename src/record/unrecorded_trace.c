/* SPDX-License-Identifier: MIT */
#include "record/unrecorded_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "reach/heap_functions.h"
#include "record/mapped_files.h"
#include "record/proc.h"
#include "record/program_check.h"
#include "record/unrecorded_threads.h"
#include "trace/limit.h"
#include "trace/writer.h"

enum { MAX_VARIABLES = 32768, PAGE_BYTES = 4096 };

static uint32_t add_module(void *w, const struct trace_module *m) {
        return trace_add_module(w, m);
}

/* Where a word of the process is, as the trace tells it: one behind what is meant, as return addresses are. */
static uint32_t locate(struct trace_writer *w, const struct mapped_file *file, uint64_t address) {
        return trace_add_location(w, &(struct trace_location){.module = file->module,
                                                              .offset = address + 1 - file->bias});
}

static void add_place(struct trace_writer *w, const struct mapped_file *file, uint64_t address,
                      uint32_t kind, struct heap_graph *h) {
        if (file)
                h->places[h->n_places++] = (struct heap_place){.address = address,
                                                               .location = locate(w, file, address),
                                                               .kind = kind};
}

/* Words of variables, so that they get names; of very many, some. */
static void add_variables(struct trace_writer *w, struct mapped_files *files,
                          struct heap_graph *h) {
        uint32_t n = 0, step;

        for (uint32_t i = 0; i < h->graph.n_roots; i++)
                n += h->roots[i].kind == ROOT_DATA;
        step = n / MAX_VARIABLES + 1;
        n = 0;
        for (uint32_t i = 0; i < h->graph.n_roots; i++) {
                const struct reach_root *r = &h->roots[i];
                const struct heap_owner *o = &h->owners[r->owner];

                if (r->kind == ROOT_DATA && n++ % step == 0)
                        add_place(w, mapped_files_get(files, o->name, o->base), r->begin,
                                  PLACE_VARIABLE, h);
        }
}

static int by_place(const void *a, const void *b) {
        const struct heap_place *x = a, *y = b;

        return x->address < y->address ? -1 : x->address > y->address;
}

static void add_places(struct trace_writer *w, pid_t pid, struct heap_graph *h) {
        struct mapped_files files = {.pid = pid, .add_module = add_module, .ctx = w};
        heap_function_list functions = {0};
        struct err unsaid = {0};
        struct maps maps = {0};

        heap_functions_find(h, &functions);
        h->places = calloc(h->graph.n_roots + functions.n + 1, sizeof(*h->places));
        if (h->places) {
                add_variables(w, &files, h);
                if (maps_read(&maps, pid, &unsaid) >= 0) /* in the files that are mapped now */
                        for (size_t i = 0; i < functions.n; i++)
                                add_place(w, mapped_files_at(&files, &maps, functions.items[i]),
                                          functions.items[i], PLACE_FUNCTION, h);
                if (h->n_places)
                        qsort(h->places, h->n_places, sizeof(h->places[0]), by_place);
        }
        mapped_files_done(&files);
        maps_done(&maps);
        vec_free(&functions);
}

static int write_graph(struct trace_writer *w, struct heap_graph *h, uint32_t process,
                       struct err *reterr) {
        bytes_buf bytes = {0};
        bool is_there;

        heap_graph_encode(h, &bytes);
        heap_graph_encode_places(h->places, h->n_places, &bytes);
        is_there = trace_put_graph(w,
                                   &(struct trace_graph){.process = process,
                                                         .n_bytes = bytes.n,
                                                         .has_heads = h->n_heads > 0},
                                   bytes.items);
        vec_free(&bytes);
        return is_there ? 0 : err_set(reterr, -ENOSPC, "no memory for the graph");
}

static void add_go_note(struct trace_writer *w, pid_t pid) {
        const struct trace_limit l = {
                .kind = LIMIT_UNHOOKED,
                .pid = (uint32_t)pid,
                .text = "silt does not see Go's garbage-collected heap: use Go's own profiler (net/http/pprof)"};
        char note[200];

        trace_limit_write(&l, note, sizeof(note));
        trace_put_note(w, 0, note);
}

static void add_unexplained(struct trace_writer *w, pid_t pid, const struct unrecorded *what) {
        char text[300], note[400];

        if (!unrecorded_is_unexplained(what, text, sizeof(text)))
                return;
        trace_limit_write(&(struct trace_limit){.kind = LIMIT_UNSEEN,
                                                .pid = (uint32_t)pid,
                                                .bytes = what->anon_bytes - what->explained_bytes,
                                                .text = text},
                          note, sizeof(note));
        trace_put_note(w, 0, note);
}

int unrecorded_trace_write(pid_t pid, int fd, bool with_threads, struct err *reterr) {
        _cleanup_(trace_writer_freep) struct trace_writer *w = NULL;
        struct heap_graph h = {0};
        struct unrecorded what = {0};
        const char *args[1] = {what.name};
        char name[17];
        uint32_t process;
        int own_fd, r, why = unrecorded_graph_make(pid, &h, &what, reterr);

        if (why < 0 && (!with_threads || !proc_comm(pid, pid, name)))
                return why;
        if (why < 0)
                snprintf(what.name, sizeof(what.name), "%.15s", name);
        own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the writer closes its own */
        r = trace_writer_open(own_fd,
                              &(struct trace_meta){.pid = (uint32_t)pid,
                                                   .page_bytes = PAGE_BYTES,
                                                   .silt_version = "",
                                                   .host = "",
                                                   .cwd = "",
                                                   .n_args = 1,
                                                   .args = args},
                              &w, reterr);
        if (r >= 0) {
                process = trace_add_process(w, &(struct trace_process){.pid = (uint32_t)pid,
                                                                       .parent = TRACE_NO_PROCESS,
                                                                       .image = 1,
                                                                       .n_args = 1,
                                                                       .args = args,
                                                                       .exe = what.name});
                if (program_is_go_process(pid))
                        add_go_note(w, pid);
                else if (why >= 0)
                        add_unexplained(w, pid, &what);
                if (why >= 0) {
                        add_places(w, pid, &h);
                        r = write_graph(w, &h, process, reterr);
                }
                if (with_threads && !unrecorded_threads_write(w, pid, process) && r >= 0)
                        r = why;
        }
        if (why >= 0)
                heap_graph_done(&h);
        return r < 0 ? r : 0;
}
