/* SPDX-License-Identifier: MIT */
/* silt symbolize: looks up names later or again, and says what is missing. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_symbolize.h"
#include "symbol/symbol.h"
#include "trace/reader.h"

enum { SYMBOLIZE_MAX_MODULES = 12 };

static const struct cli_command symbolize_command = {
        .name = "symbolize",
        .help_text = symbolize_help_text,
        .options = symbolize_option_table,
        .n_options = ARRAY_SIZE(symbolize_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

/* ---- the command line ------------------------------------------------------------------------ */

/* Absolute: the cache must not take one directory for another. NULL after an error was printed. */
static char *take_path(struct cli_parser *p, bool may_be_file) {
        char *path = realpath(p->value, NULL);
        struct stat st;

        if (path && stat(path, &st) == 0 &&
            (S_ISDIR(st.st_mode) || (may_be_file && S_ISREG(st.st_mode))))
                return path;
        cli_parser_error(p, "--%s: '%s' is %s: check the path", p->name, p->value,
                         may_be_file ? "neither a directory nor a file" : "not a directory");
        free(path);
        return NULL;
}

static bool take_option(struct symbolize_options *o, enum symbolize_option option,
                        struct cli_parser *p) {
        char *path;

        switch (option) {
        case SYMBOLIZE_DEBUG_PATH:
                path = take_path(p, true);
                if (path)
                        vec_push(&o->debug_paths, path);
                return path != NULL;
        case SYMBOLIZE_SYSROOT:
                free(o->sysroot);
                o->sysroot = take_path(p, false);
                return o->sysroot != NULL;
        case SYMBOLIZE_NO_CACHE: o->no_cache = true; break;
        case SYMBOLIZE_QUIET: o->quiet = true; break;
        case SYMBOLIZE_OPTION_NONE: break;
        }
        return true;
}

void symbolize_options_done(struct symbolize_options *o) {
        for (size_t i = 0; i < o->debug_paths.n; i++)
                free(o->debug_paths.items[i]);
        vec_free(&o->debug_paths);
        free(o->sysroot);
}

bool symbolize_options_parse(int argc, char **argv, struct symbolize_options *ret_options,
                             int *ret_exit_status) {
        struct symbolize_options o = {0};
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_parser_init(&p, &symbolize_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP) {
                        ok = false;
                } else if (id != CLI_OPERAND) {
                        ok = take_option(&o, (enum symbolize_option)id, &p);
                } else if (o.path) {
                        cli_parser_error(&p, "only one trace can be given: leave out '%s'",
                                         p.value);
                        ok = false;
                } else {
                        o.path = p.value;
                }
        }
        if (ok && !o.path) {
                cli_parser_error(&p, "no trace given: write 'silt symbolize FILE'");
                ok = false;
        }
        *ret_exit_status = p.exit_status;
        *ret_options = o;
        return ok;
}

/* ---- what came of it ------------------------------------------------------------------------- */

/* Frames are nodes of the stack tree, as in a report. */
struct tally {
        uint64_t n_frames, n_named, n_guessed, n_lines;
};

struct module_tally {
        struct tally tally;
        const char *path;
        const struct trace_module_names *names; /* NULL: nothing is known of it */
};

static void tally_add(struct tally *t, const struct trace_symbol *first, uint64_t n_frames,
                      bool has_symbol) {
        t->n_frames += n_frames;
        if (!has_symbol || trace_symbol_begin(first, &(uint64_t){0}))
                return;
        if (first->function[0])
                t->n_named += n_frames;
        if (first->guess)
                t->n_guessed += n_frames;
        if (first->file[0])
                t->n_lines += n_frames;
}

/* modules: n_modules + 1, the last for code in no module. */
static void tally_all(const struct trace_view *v, struct tally *ret_all,
                      struct module_tally *modules) {
        _cleanup_free_ uint32_t *n_nodes = calloc(v->n_locations + 1, sizeof(*n_nodes));
        size_t next = 0;

        if (!n_nodes)
                abort();
        for (size_t i = 1; i < v->n_stacks; i++)
                n_nodes[v->stacks[i].location]++;
        for (size_t i = 0; i <= v->n_modules; i++)
                modules[i].path = i < v->n_modules ? v->modules[i].path : "";
        for (size_t i = 0; i < v->n_module_names; i++)
                modules[v->module_names[i].module].names = &v->module_names[i];
        for (uint32_t l = 0; l < v->n_locations; l++) {
                size_t m = MIN((size_t)v->locations[l].module, v->n_modules);
                const struct trace_symbol *s;
                bool has;

                while (next < v->n_symbols && v->symbols[next].location < l)
                        next++;
                has = next < v->n_symbols && v->symbols[next].location == l;
                s = has ? &v->symbols[next] : NULL;
                tally_add(ret_all, s, n_nodes[l], has);
                tally_add(&modules[m].tally, s, n_nodes[l], has);
        }
}

/* What a file says may hold anything: one line, no control characters. */
static void add_plain(struct str *s, const char *text) {
        char plain[4096 + 8];

        snprintf(plain, sizeof(plain), "%.4096s", text);
        err_make_one_line(plain);
        str_add(s, plain);
}

static double percent(uint64_t part, uint64_t whole) {
        double p = whole ? 100.0 * (double)part / (double)whole : 100.0;

        /* 100.0 is said of all, and of nothing less */
        return part < whole && p > 99.9 ? 99.9 : p;
}

static void add_sentence(struct str *s, const char *path, const struct tally *t) {
        struct unit_text n;

        add_plain(s, path);
        if (t->n_frames == 0)
                str_add(s, ": no frames to name.\n");
        else if (t->n_lines == t->n_frames && t->n_named == t->n_frames)
                str_addf(s, ": all %s frames have names and source lines.\n",
                         unit_count(&n, t->n_frames));
        else {
                str_addf(s, ": %.1f %% of %s frames have names", percent(t->n_named, t->n_frames),
                         unit_count(&n, t->n_frames));
                if (t->n_guessed)
                        str_addf(s, " (%.1f %% are guesses)", percent(t->n_guessed, t->n_frames));
                str_addf(s, ", %.1f %% have source lines.\n", percent(t->n_lines, t->n_frames));
        }
}

static bool lacks_something(const struct module_tally *m) {
        return m->tally.n_frames > 0 &&
               (m->names ? m->names->text[0] != '\0' : m->tally.n_named < m->tally.n_frames);
}

static int more_frames_first(const void *a, const void *b) {
        const struct module_tally *x = a, *y = b;
        uint64_t n = x->tally.n_frames, k = y->tally.n_frames;

        return n != k ? (n > k ? -1 : 1) : strcmp(x->path, y->path);
}

static const char *module_text(const struct module_tally *m) {
        return m->names
                       ? m->names->text
                       : "code generated at run time, without a trustworthy /tmp/perf-PID.map: let the runtime write one (node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, PYTHONPERFSUPPORT=1)";
}

/* Many modules lack the same: it is said once. Those told are taken out. */
static void add_group(struct str *s, struct module_tally **modules, size_t n) {
        const char *text = module_text(modules[0]);
        size_t n_more = 0, n_told = 0;

        str_add(s, "\n");
        add_plain(s, text);
        str_add(s, "\n");
        for (size_t i = 0; i < n; i++) {
                struct unit_text count;

                if (!modules[i] || strcmp(module_text(modules[i]), text) != 0)
                        continue;
                if (n_told++ < SYMBOLIZE_MAX_MODULES) {
                        str_addf(s, "%12s frame%s ", unit_count(&count, modules[i]->tally.n_frames),
                                 modules[i]->tally.n_frames == 1 ? " " : "s");
                        add_plain(s,
                                  modules[i]->path[0] ? modules[i]->path : "code not from a file");
                        str_add(s, "\n");
                } else {
                        n_more++;
                }
                modules[i] = NULL;
        }
        if (n_more)
                str_addf(s, "%20s and %zu more\n", "", n_more);
}

static void add_modules(struct str *s, struct module_tally *modules, size_t n) {
        VEC(struct module_tally *) lacking = {0};

        qsort(modules, n, sizeof(*modules), more_frames_first);
        for (size_t i = 0; i < n; i++)
                if (lacks_something(&modules[i]))
                        vec_push(&lacking, &modules[i]);
        for (size_t i = 0; i < lacking.n; i++)
                if (lacking.items[i])
                        add_group(s, lacking.items + i, lacking.n - i);
        vec_free(&lacking);
}

static int tell(const char *path, int n_kept, struct err *reterr) {
        _cleanup_(trace_reader_freep) struct trace_reader *t = NULL;
        _cleanup_free_ struct module_tally *modules = NULL;
        struct tally all = {0};
        struct str s = {0};
        int r = trace_reader_open(path, &t, reterr);

        if (r < 0)
                return r;
        modules = calloc(trace_view(t)->n_modules + 1, sizeof(*modules));
        if (!modules)
                abort();
        tally_all(trace_view(t), &all, modules);
        add_sentence(&s, path, &all);
        if (n_kept)
                str_addf(&s, "  %d module%s kept the names found earlier: fewer can be found now\n",
                         n_kept, n_kept == 1 ? "" : "s");
        add_modules(&s, modules, trace_view(t)->n_modules + 1);
        fputs(str_text(&s), stdout);
        str_done(&s);
        return 0;
}

int cmd_symbolize(int argc, char **argv) {
        struct symbol_options how = SYMBOL_OPTIONS_DEFAULT;
        struct symbolize_options o;
        struct err e = {0};
        int status, r;

        if (symbolize_options_parse(argc, argv, &o, &status)) {
                how.search.debug_paths = (const char *const *)o.debug_paths.items;
                how.search.n_debug_paths = o.debug_paths.n;
                how.search.sysroot = o.sysroot;
                how.no_cache = o.no_cache;
                r = symbol_append_with(o.path, &how, &e);
                if (r >= 0 && !o.quiet)
                        r = tell(o.path, r, &e);
                if (r < 0)
                        fprintf(stderr, "silt: %s\n", e.text);
                status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        symbolize_options_done(&o);
        return status;
}
