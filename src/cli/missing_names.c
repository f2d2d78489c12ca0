/* SPDX-License-Identifier: MIT */
#include "cli/missing_names.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "base/str.h"
#include "query/query.h"
#include "show/opened.h"
#include "symbol/symbol.h"

enum { NAMING_TIME_S = 30 }; /* where nobody asked for it */

static const char *debug_paths[CLI_MAX_DEBUG_PATHS];
static size_t n_debug_paths;
static bool looks_always;

bool cli_take_debug_path(struct cli_parser *p) {
        struct stat st;

        if (stat(p->value, &st) < 0 || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) {
                cli_parser_error(
                        p, "--debug-path: '%s' is neither a directory nor a file: check the path",
                        p->value);
                return false;
        }
        if (n_debug_paths == CLI_MAX_DEBUG_PATHS) {
                cli_parser_error(
                        p, "--debug-path: given more than %d times: name a common parent directory",
                        CLI_MAX_DEBUG_PATHS);
                return false;
        }
        debug_paths[n_debug_paths++] = p->value;
        return true;
}

/* It is still being written, or was cut off, and some module on its call paths was never looked at. One that is finished without
 * names was meant to be, unless silt made it to look on. */
static bool lacks_names(const struct trace_view *v) {
        _cleanup_free_ bool *has = calloc(v->n_modules + 1, sizeof(bool));

        if (!has)
                abort();
        if (v->finished && !looks_always)
                return false;
        for (size_t i = 0; i < v->n_module_names; i++)
                if (v->module_names[i].module < v->n_modules)
                        has[v->module_names[i].module] = true;
        for (size_t i = 0; i < v->n_locations; i++)
                if (v->locations[i].module < v->n_modules && v->locations[i].offset &&
                    !has[v->locations[i].module])
                        return true;
        /* those that came behind the names of a trace that goes on */
        return v->n_symbols && v->n_locations &&
               v->symbols[v->n_symbols - 1].location + 1 < v->n_locations;
}

static void *look_up(const char *path, struct query *q) {
        const struct trace_view *v = query_view(q);
        struct symbol_options how = SYMBOL_OPTIONS_DEFAULT;
        char *absolute[CLI_MAX_DEBUG_PATHS] = {0};
        struct symbol_table *t = NULL;
        struct err err = {0};
        size_t n = 0, n_symbols, n_modules;

        if ((v->n_stacks < 2 && !query_n_graphs(q)) || (n_debug_paths == 0 && !lacks_names(v)))
                return NULL;
        for (size_t i = 0; i < n_debug_paths; i++) {
                absolute[n] = realpath(debug_paths[i], NULL);
                n += absolute[n] != NULL;
        }
        how.search.debug_paths = (const char *const *)absolute;
        how.search.n_debug_paths = n;
        if (n == 0)
                how.limits.time_ns = NAMING_TIME_S * 1000000000ull;
        if (symbol_lookup(path, &how, &t, &err) < 0)
                t = NULL; /* then the trace's own have to do */
        for (size_t i = 0; i < n; i++)
                free(absolute[i]);
        if (!t)
                return NULL;
        /* It may have grown in the meantime. */
        for (n_symbols = t->n_symbols; n_symbols > 0; n_symbols--)
                if (t->symbols[n_symbols - 1].location < v->n_locations)
                        break;
        for (n_modules = t->n_modules; n_modules > 0; n_modules--)
                if (t->modules[n_modules - 1].module < v->n_modules)
                        break;
        query_set_symbols(q, t->symbols, n_symbols, t->modules, n_modules);
        return t;
}

static void done(void *names) {
        symbol_table_free(names);
}

static void add_options(struct str *to) {
        for (size_t i = 0; i < n_debug_paths; i++) {
                str_add(to, " --debug-path ");
                str_add_shell(to, debug_paths[i]);
        }
}

void cli_missing_names_init(void) {
        static const struct opened_namer namer = {.look_up = look_up,
                                                  .done = done,
                                                  .add_options = add_options};

        n_debug_paths = 0;
        opened_set_namer(&namer);
}

void cli_missing_names_look_always(void) {
        looks_always = true;
}
