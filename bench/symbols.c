/* SPDX-License-Identifier: MIT */
/* usage: bench_symbols TRACE: the places in code that a trace names, as llvm-symbolizer takes them on its
 * standard input: `"FILE" 0xADDRESS`. */
#include <stdio.h>

#include "trace/reader.h"

int main(int argc, char **argv) {
        const struct trace_view *v;
        struct trace_reader *t;
        struct err err = {0};

        if (argc != 2 || trace_reader_open(argv[1], &t, &err) < 0) {
                fprintf(stderr, "bench_symbols: %s\n", argc == 2 ? err.text : "name a trace");
                return 1;
        }
        v = trace_view(t);
        for (uint32_t m = 0; m < v->n_modules; m++)
                for (size_t i = 0; i < v->n_locations; i++)
                        if (v->locations[i].module == m && v->locations[i].offset > 0 &&
                            v->modules[m].path[0] == '/')
                                printf("\"%s\" 0x%llx\n", v->modules[m].path,
                                       (unsigned long long)v->locations[i].offset - 1);
        trace_reader_free(t);
        return 0;
}
