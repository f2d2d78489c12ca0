/* SPDX-License-Identifier: MIT */
#include "record/unrecorded_trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "patch/maps.h"
#include "reach/heap_functions.h"
#include "record/elf_id.h"
#include "record/proc.h"
#include "record/program_check.h"
#include "record/unrecorded_threads.h"
#include "symbol/code_file.h"
#include "trace/limit.h"
#include "trace/writer.h"

enum { MAX_VARIABLES = 32768, PAGE_BYTES = 4096, MAX_HEADERS = 64 };

/* A file of the process, as the trace has it. */
struct known_module {
        const char *path; /* the graph's or the mappings' */
        uint64_t base, bias;
        uint32_t module;
};

struct module_list {
        VEC(struct known_module) list;
        pid_t pid;
        struct trace_writer *w;
};

/* How far the addresses of a file are from where it is mapped: its first segment says where it wants to be. */
static uint64_t bias_of(const char *path, uint64_t base) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);
        Elf64_Ehdr head;
        Elf64_Phdr segment;

        if (fd < 0 || pread(fd, &head, sizeof(head), 0) != sizeof(head))
                return base;
        for (unsigned i = 0; i < head.e_phnum && i < MAX_HEADERS; i++) {
                off_t at = (off_t)(head.e_phoff + i * sizeof(segment));

                if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
                        break;
                if (segment.p_type == PT_LOAD)
                        return base - (segment.p_vaddr - segment.p_offset);
        }
        return base;
}

/* Where a word of the process is, as the trace tells it. */
static uint32_t locate(struct module_list *modules, const char *path, uint64_t base,
                       uint64_t address) {
        struct known_module *m = NULL;

        for (size_t i = 0; i < modules->list.n && !m; i++)
                if (modules->list.items[i].base == base &&
                    strcmp(modules->list.items[i].path, path) == 0)
                        m = &modules->list.items[i];
        if (!m) {
                struct trace_module one = {.path = path};
                char file[4200];

                code_file_locate(modules->pid, path, file, sizeof(file));
                one.build_id_len = elf_id_read(file, one.build_id);
                vec_push(&modules->list, (struct known_module){path, base, bias_of(file, base),
                                                               trace_add_module(modules->w, &one)});
                m = &modules->list.items[modules->list.n - 1];
        }
        /* one behind what is meant, as return addresses are */
        return trace_add_location(modules->w,
                                  &(struct trace_location){.module = m->module,
                                                           .offset = address + 1 - m->bias});
}

/* Words of variables, so that they get names; of very many, some. */
static void add_variables(struct module_list *modules, struct heap_graph *h) {
        uint32_t n = 0, step;

        for (uint32_t i = 0; i < h->graph.n_roots; i++)
                n += h->roots[i].kind == ROOT_DATA;
        step = n / MAX_VARIABLES + 1;
        n = 0;
        for (uint32_t i = 0; i < h->graph.n_roots; i++) {
                const struct reach_root *r = &h->roots[i];
                const struct heap_owner *o = &h->owners[r->owner];

                if (r->kind == ROOT_DATA && n++ % step == 0)
                        h->places[h->n_places++] =
                                (struct heap_place){.address = r->begin,
                                                    .location = locate(modules, o->name, o->base,
                                                                       r->begin),
                                                    .kind = PLACE_VARIABLE};
        }
}

/* The same of functions, in the files that are mapped now. */
static void add_functions(struct module_list *modules, const struct maps *maps,
                          const heap_function_list *functions, struct heap_graph *h) {
        size_t k = 0;

        for (size_t i = 0; i < functions->n; i++) {
                uint64_t address = functions->items[i];
                const struct mapping *m, *first;

                while (k < maps->list.n && maps->list.items[k].end <= address)
                        k++;
                if (k == maps->list.n)
                        return;
                m = first = &maps->list.items[k];
                if (m->begin > address || m->path[0] != '/')
                        continue;
                while (first > maps->list.items && strcmp(first[-1].path, m->path) == 0)
                        first--;
                h->places[h->n_places++] = (struct heap_place){
                        .address = address,
                        .location = locate(modules, m->path, first->begin - first->offset, address),
                        .kind = PLACE_FUNCTION};
        }
}

static int by_place(const void *a, const void *b) {
        const struct heap_place *x = a, *y = b;

        return x->address < y->address ? -1 : x->address > y->address;
}

static void add_places(struct trace_writer *w, pid_t pid, struct heap_graph *h) {
        struct module_list modules = {.pid = pid, .w = w};
        heap_function_list functions = {0};
        struct err unsaid = {0};
        struct maps maps = {0};

        heap_functions_find(h, &functions);
        h->places = calloc(h->graph.n_roots + functions.n + 1, sizeof(*h->places));
        if (h->places) {
                add_variables(&modules, h);
                if (maps_read(&maps, pid, &unsaid) >= 0)
                        add_functions(&modules, &maps, &functions, h);
                if (h->n_places)
                        qsort(h->places, h->n_places, sizeof(h->places[0]), by_place);
        }
        maps_done(&maps);
        vec_free(&functions);
        vec_free(&modules.list);
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
