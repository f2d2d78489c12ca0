/* SPDX-License-Identifier: MIT */
/* What silt knows of addresses of a file, as text: for tests that hold it against other tools.
 *
 *   names_tool names FILE       addresses in hex on stdin, rising, one a line. For each: its line, and a
 *                               line "function<TAB>file<TAB>line<TAB>flags" per frame, innermost first;
 *                               flags are i (inlined), g (a guess) or -
 *   names_tool readable         linker names on stdin, one a line, to their readable form */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "symbol/module.h"
#include "symbol/symbol.h"

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

int main(int argc, char **argv) {
        if (argc == 3 && strcmp(argv[1], "names") == 0)
                return names(argv[2]);
        if (argc == 2 && strcmp(argv[1], "readable") == 0)
                return readable();
        fprintf(stderr, "usage: names_tool names FILE | names_tool readable\n");
        return 2;
}
