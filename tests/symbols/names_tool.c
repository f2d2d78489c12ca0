/* SPDX-License-Identifier: MIT */
/* What silt knows of addresses of a file, as text: for tests that hold it against other tools.
 *
 *   names_tool names FILE       addresses in hex on stdin, rising, one a line. For each: its line, and a
 *                               line "function<TAB>file<TAB>line<TAB>flags" per frame, innermost first;
 *                               flags are i (inlined), g (a guess) or -
 *   names_tool readable         linker names on stdin, one a line, to their readable form
 *   names_tool lookup SECONDS MEBIBYTES TRACE
 *                               lines "FILE ADDRESS…" on stdin. For each a trace is made that has the file as
 *                               its only module, and looked up as after a recording, in a process with these
 *                               limits: "naming<TAB>symbols<TAB>milliseconds<TAB>text" */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vec.h"
#include "symbol/module.h"
#include "symbol/symbol.h"
#include "trace/writer.h"

struct printing {
        const uint64_t *addresses;
        size_t n_told; /* addresses whose line is printed */
};

static void tell_addresses(struct printing *p, size_t n) {
        for (; p->n_told < n; p->n_told++)
                printf("0x%" PRIx64 "\n", p->addresses[p->n_told]);
}

static void print_symbol(void *ctx, const struct trace_symbol *s) {
        struct printing *p = ctx;

        tell_addresses(p, (size_t)s->location + 1);
        printf("%s\t%s\t%" PRIu32 "\t%s\n", s->function, s->file, s->line,
               s->inlined ? "i"
               : s->guess ? "g"
                          : "-");
}

static int names(const char *path) {
        struct trace_module module = {.path = path};
        _cleanup_(symbol_module_freep) struct symbol_module *m = NULL;
        VEC(uint64_t) addresses = {0};
        struct printing p;
        uint64_t address;
        static struct symbol_origin origin;

        while (scanf("%" SCNx64, &address) == 1)
                vec_push(&addresses, address);
        if (symbol_module_open(&module, NULL, &m, &origin) < 0) {
                fprintf(stderr, "names_tool: %s\n", origin.text);
                vec_free(&addresses);
                return 1;
        }
        p = (struct printing){.addresses = addresses.items};
        symbol_module_name(m, addresses.items, addresses.n, print_symbol, &p);
        tell_addresses(&p, addresses.n);
        vec_free(&addresses);
        return 0;
}

static int readable(void) {
        _cleanup_free_ char *line = NULL;
        size_t cap = 0;

        while (getline(&line, &cap, stdin) > 0) {
                _cleanup_free_ char *name = NULL;

                line[strcspn(line, "\n")] = '\0';
                name = symbol_demangle(line);
                printf("%s\n", name);
        }
        return 0;
}

/* ---- as after a recording --------------------------------------------------------------------- */

static void fail(const char *what) {
        fprintf(stderr, "names_tool: %s\n", what);
        exit(1);
}

/* words: a path, and addresses. */
static void write_trace(const char *trace_path, char *words) {
        const char *const args[] = {"self"};
        struct trace_meta meta = {
                .pid = 1, .silt_version = "", .host = "", .cwd = "", .n_args = 1, .args = args};
        struct trace_process process = {.pid = 1,
                                        .parent = TRACE_NO_PROCESS,
                                        .image = 1,
                                        .exe = "self",
                                        .n_args = 1,
                                        .args = args};
        struct trace_module module = {.path = strsep(&words, " "), .size_bytes = UINT32_MAX};
        struct trace_writer *w;
        struct err e = {0};
        const char *word;
        uint32_t m;
        int fd = open(trace_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0 || trace_writer_open(fd, &meta, &w, &e) < 0)
                fail("cannot write the trace");
        trace_add_process(w, &process);
        m = trace_add_module(w, &module);
        while ((word = strsep(&words, " "))) {
                struct trace_location l = {m, strtoull(word, NULL, 16) + 1};

                trace_add_stack(w, 0, trace_add_location(w, &l));
        }
        trace_end_slice(w, 1000, NULL, 0, NULL, 0);
        if (trace_writer_finish(w, &e) < 0)
                fail(e.text);
        trace_writer_free(w);
}

static int lookup(const char *seconds, const char *mebibytes, const char *trace_path) {
        struct symbol_options options = {.no_cache = true};
        _cleanup_free_ char *line = NULL;
        size_t cap = 0;

        options.limits.time_ns = strtoull(seconds, NULL, 10) * 1000000000;
        options.limits.memory_bytes = strtoull(mebibytes, NULL, 10) << 20;
        while (getline(&line, &cap, stdin) > 0) {
                _cleanup_(symbol_table_freep) struct symbol_table *t = NULL;
                struct timespec begin, end;
                struct err e = {0};

                line[strcspn(line, "\n")] = '\0';
                write_trace(trace_path, line);
                clock_gettime(CLOCK_MONOTONIC, &begin);
                if (symbol_lookup(trace_path, &options, &t, &e) < 0)
                        fail(e.text);
                clock_gettime(CLOCK_MONOTONIC, &end);
                if (t->n_modules != 1)
                        fail("one module, but not one answer");
                printf("%u\t%zu\t%lld\t%s\n", t->modules[0].naming, t->n_symbols,
                       (end.tv_sec - begin.tv_sec) * 1000ll +
                               (end.tv_nsec - begin.tv_nsec) / 1000000,
                       t->modules[0].text);
                fflush(stdout);
        }
        return 0;
}

int main(int argc, char **argv) {
        if (argc == 3 && strcmp(argv[1], "names") == 0)
                return names(argv[2]);
        if (argc == 2 && strcmp(argv[1], "readable") == 0)
                return readable();
        if (argc == 5 && strcmp(argv[1], "lookup") == 0)
                return lookup(argv[2], argv[3], argv[4]);
        fprintf(stderr,
                "usage: names_tool names FILE | readable | lookup SECONDS MEBIBYTES TRACE\n");
        return 2;
}
