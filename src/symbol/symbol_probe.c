/* SPDX-License-Identifier: MIT */
/* Test program: what symbol/module.h says about addresses of one file.
 *
 *   symbol_probe [--build-id HEX] [--debug-path DIR]... [--sysroot DIR] FILE ADDRESS...
 *
 * prints `origin NAMING|DEBUG FILE|TEXT`, and for each frame of each address, innermost first,
 * `ADDRESS inlined|function|guess|NAME|FILE:LINE`. Addresses are hexadecimal and the file's own. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "symbol/module.h"

struct probe {
        struct trace_module module;
        struct symbol_search search;
        const char *debug_paths[16];
        uint64_t addresses[4096];
        size_t n_addresses;
};

static void print_symbol(void *ctx, const struct trace_symbol *s) {
        const struct probe *p = ctx;

        printf("%llx %s|%s|%s:%u\n", (unsigned long long)p->addresses[s->location],
               s->inlined ? "inlined"
               : s->guess ? "guess"
                          : "function",
               s->function, s->file, s->line);
}

static void parse_build_id(struct trace_module *m, const char *hex) {
        unsigned byte;

        while (m->build_id_len < sizeof(m->build_id) && sscanf(hex, "%2x", &byte) == 1) {
                m->build_id[m->build_id_len++] = (uint8_t)byte;
                hex += 2;
        }
}

static int address_compare(const void *a, const void *b) {
        const uint64_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

static bool parse(struct probe *p, int argc, char **argv) {
        static const struct option options[] = {{"build-id", required_argument, NULL, 'b'},
                                                {"debug-path", required_argument, NULL, 'd'},
                                                {"sysroot", required_argument, NULL, 's'},
                                                {0}};
        int c;

        p->search.debug_paths = p->debug_paths;
        while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
                if (c == 'b')
                        parse_build_id(&p->module, optarg);
                else if (c == 'd' && p->search.n_debug_paths < ARRAY_SIZE(p->debug_paths))
                        p->debug_paths[p->search.n_debug_paths++] = optarg;
                else if (c == 's')
                        p->search.sysroot = optarg;
                else
                        return false;
        }
        if (optind == argc)
                return false;
        p->module.path = argv[optind++];
        while (optind < argc && p->n_addresses < ARRAY_SIZE(p->addresses))
                p->addresses[p->n_addresses++] = strtoull(argv[optind++], NULL, 16);
        qsort(p->addresses, p->n_addresses, sizeof(p->addresses[0]), address_compare);
        return true;
}

int main(int argc, char **argv) {
        _cleanup_(symbol_module_freep) struct symbol_module *m = NULL;
        static struct probe p;
        static struct symbol_origin origin;

        if (!parse(&p, argc, argv))
                return 2;
        if (symbol_module_open(&p.module, &p.search, &m, &origin) == 0) {
                symbol_module_name(m, p.addresses, p.n_addresses, print_symbol, &p);
                symbol_module_origin(m, &origin);
        }
        printf("origin %d|%s|%s\n", (int)origin.naming, origin.file, origin.text);
        return 0;
}
