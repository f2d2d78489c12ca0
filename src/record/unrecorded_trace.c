/* SPDX-License-Identifier: MIT */
#include "record/unrecorded_trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "patch/code_file.h"
#include "record/elf_id.h"
#include "trace/writer.h"

enum { MAX_VARIABLES = 32768, PAGE_BYTES = 4096, MAX_HEADERS = 64 };

/* A module of the graph's owners, as the trace has it. */
struct owner_module {
        uint32_t module; /* UINT32_MAX: not looked at */
        uint64_t bias;
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

static struct owner_module add_module(struct trace_writer *w, pid_t pid,
                                      const struct heap_owner *o) {
        struct trace_module m = {.path = o->name};
        char path[4200];

        code_file_locate(pid, o->name, path, sizeof(path));
        m.build_id_len = elf_id_read(path, m.build_id);
        return (struct owner_module){trace_add_module(w, &m), bias_of(path, o->base)};
}

/* Words of variables, so that they get names; of very many, some. */
static void add_places(struct trace_writer *w, pid_t pid, struct heap_graph *h) {
        struct owner_module *modules = calloc(MAX(h->n_owners, 1u), sizeof(*modules));
        uint32_t n = 0, step;

        h->places = calloc(MAX(h->graph.n_roots, 1u), sizeof(*h->places));
        if (!modules || !h->places) {
                free(modules);
                return;
        }
        for (uint32_t i = 0; i < h->n_owners; i++)
                modules[i].module = UINT32_MAX;
        for (uint32_t i = 0; i < h->graph.n_roots; i++)
                n += h->roots[i].kind == ROOT_DATA;
        step = n / MAX_VARIABLES + 1;
        n = 0;
        for (uint32_t i = 0; i < h->graph.n_roots; i++) {
                const struct reach_root *r = &h->roots[i];
                struct owner_module *m = &modules[r->owner];

                if (r->kind != ROOT_DATA || n++ % step)
                        continue;
                if (m->module == UINT32_MAX)
                        *m = add_module(w, pid, &h->owners[r->owner]);
                h->places[h->n_places++] = (struct heap_place){
                        .address = r->begin,
                        /* one behind what is meant, as return addresses are */
                        .location = trace_add_location(
                                w, &(struct trace_location){.module = m->module,
                                                            .offset = r->begin + 1 - m->bias}),
                        .kind = PLACE_VARIABLE};
        }
        free(modules);
}

static int write_graph(struct trace_writer *w, struct heap_graph *h, uint32_t process,
                       struct err *reterr) {
        bytes_buf bytes = {0};
        bool is_there;

        heap_graph_encode(h, &bytes);
        heap_graph_encode_places(h->places, h->n_places, &bytes);
        is_there = trace_put_graph(w, &(struct trace_graph){.process = process, .n_bytes = bytes.n},
                                   bytes.items);
        vec_free(&bytes);
        return is_there ? 0 : err_set(reterr, -ENOSPC, "no memory for the graph");
}

int unrecorded_trace_write(pid_t pid, int fd, struct err *reterr) {
        _cleanup_(trace_writer_freep) struct trace_writer *w = NULL;
        struct heap_graph h;
        struct unrecorded what;
        const char *args[1] = {what.name};
        uint32_t process;
        int own_fd, r = unrecorded_graph_make(pid, &h, &what, reterr);

        if (r < 0)
                return r;
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
                add_places(w, pid, &h);
                r = write_graph(w, &h, process, reterr);
        }
        heap_graph_done(&h);
        return r < 0 ? r : 0;
}
