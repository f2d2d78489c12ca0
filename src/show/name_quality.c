/* SPDX-License-Identifier: MIT */
#include "show/name_quality.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/units.h"

/* Less than this without lines is no news: every program has some of its libraries'. */
#define NAMING_MATTERS_PCT 10.0

static double percent(uint64_t part, uint64_t whole) {
        return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

static int more_frames_first(const void *a, const void *b) {
        const struct name_module *x = a, *y = b;

        if (x->n_frames != y->n_frames)
                return x->n_frames > y->n_frames ? -1 : 1;
        return strcmp(x->path, y->path);
}

static void count_frame(struct name_module *m, const struct query_frame *f) {
        m->n_frames++;
        m->n_named += f->function[0] != '\0';
        m->n_guessed += f->function[0] && f->guess;
        m->n_lined += f->file[0] != '\0';
}

/* Those without a frame go. */
static void keep_used(struct name_quality *n, struct name_module *modules, size_t n_modules) {
        size_t n_used = 0;

        for (size_t i = 0; i < n_modules; i++)
                if (modules[i].n_frames)
                        modules[n_used++] = modules[i];
        if (n_used)
                qsort(modules, n_used, sizeof(*modules), more_frames_first);
        n->modules = modules;
        n->n_modules = n_used;
}

/* Frames are nodes of the stack tree: a location counts as often as it has different callers. */
void name_quality_count(struct name_quality *n, struct query *q, struct arena *arena) {
        const struct trace_view *v = query_view(q);
        struct name_module *modules = arena_alloc(arena, (v->n_modules + 1) * sizeof(*modules));
        struct name_module all = {0};

        for (size_t i = 0; i <= v->n_modules; i++)
                modules[i].path = i < v->n_modules ? v->modules[i].path : "";
        for (size_t i = 0; i < v->n_module_names; i++)
                modules[v->module_names[i].module].names = &v->module_names[i];
        for (size_t i = 1; i < v->n_stacks; i++) {
                uint32_t location = v->stacks[i].location;
                struct query_frame f;

                if (query_location_frames(q, location, &f, 1) == 0)
                        continue;
                count_frame(&modules[MIN((size_t)v->locations[location].module, v->n_modules)], &f);
                count_frame(&all, &f);
        }
        n->symbolized_frames_pct = percent(all.n_named, all.n_frames);
        n->lined_frames_pct = percent(all.n_lined, all.n_frames);
        n->guessed_frames_pct = all.n_frames ? percent(all.n_guessed, all.n_frames) : 0;
        keep_used(n, modules, v->n_modules + 1);
}

static struct name_module *find_module(struct name_quality *n, const char *path) {
        for (size_t i = 0; i < n->n_modules; i++)
                if (strcmp(n->modules[i].path, path) == 0)
                        return &n->modules[i];
        return NULL;
}

/* What people look at is the code that asked; frames elsewhere may lack lines unnoticed. */
void name_quality_count_lines(struct name_quality *n, const struct query_groups *sites,
                              bool is_of_time) {
        uint64_t n_allocs = 0, n_unlined = 0;
        struct name_module *m = NULL;

        n->is_of_time = is_of_time;
        for (size_t i = 0; i < sites->n; i++) {
                const struct query_group *g = &sites->rows[i];
                uint64_t weight = is_of_time ? g->self.alloc_bytes : g->self.n_allocs;

                n_allocs += weight;
                if (g->frame.file[0] || !g->stack || strcmp(g->frame.module, "[kernel]") == 0 ||
                    (!g->frame.module[0] && g->frame.function[0]))
                        continue; /* nobody can give the kernel's lines, nor those of made code */
                n_unlined += weight;
                if (!m || strcmp(m->path, g->frame.module) != 0)
                        m = find_module(n, g->frame.module);
                if (m)
                        m->n_unlined_allocs += weight;
        }
        n->unlined_allocs_pct = n_allocs ? percent(n_unlined, n_allocs) : 0;
}

/* ---- in words -------------------------------------------------------------------------------- */

static const char *module_name(const struct name_module *m) {
        return m->path[0] ? m->path : "code not from a file";
}

static bool add_unnamed(const struct name_quality *n, struct str *to) {
        const struct name_module *first = NULL;
        size_t n_unnamed = 0;

        for (size_t i = 0; i < n->n_modules; i++)
                if (!n->modules[i].n_named && n->modules[i].path[0] && n_unnamed++ == 0)
                        first = &n->modules[i];
        if (!first)
                return false;
        str_addf(to, "No names from %s", module_name(first));
        if (n_unnamed > 1)
                str_addf(to, " and %zu more", n_unnamed - 1);
        if (first->names && first->names->text[0])
                str_addf(to, ": %s.", first->names->text);
        else
                str_add(to, ": it is stripped, or was replaced or removed since the recording.");
        return true;
}

/* Of code that was made at run time only its maker knows the names. */
static void add_made(const struct name_quality *n, struct str *to) {
        static const struct {
                const char *file, *how;
        } makers[] = {{"node", "node --perf-basic-prof"},
                      {"libnode.so", "node --perf-basic-prof"},
                      {"libjvm.so", "java -XX:+DumpPerfMapAtExit, or perf-map-agent"},
                      {"libcoreclr.so", "DOTNET_PerfMapEnabled=1"}};
        const char *how = NULL;

        for (size_t i = 0; i < n->n_modules && !how; i++)
                for (size_t k = 0; k < ARRAY_SIZE(makers) && !how; k++) {
                        const char *slash = strrchr(n->modules[i].path, '/');

                        if (strncmp(slash ? slash + 1 : n->modules[i].path, makers[k].file,
                                    strlen(makers[k].file)) == 0)
                                how = makers[k].how;
                }
        str_addf(
                to,
                " in code that was made while the program ran (a JIT compiler's), which only a map names: let the runtime write /tmp/perf-PID.map (%s), and record again.",
                how ? how
                    : "node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, PYTHONPERFSUPPORT=1, DOTNET_PerfMapEnabled=1");
}

/* The module that asked for most without lines, where that matters, and why it has none. */
static bool add_lineless(const struct name_quality *n, struct str *to) {
        const struct name_module *worst = NULL;

        for (size_t i = 0; i < n->n_modules; i++) {
                const struct name_module *m = &n->modules[i];

                if (((m->names && m->names->text[0]) || !m->path[0]) &&
                    m->n_unlined_allocs > (worst ? worst->n_unlined_allocs : 0))
                        worst = m;
        }
        if (!worst || n->unlined_allocs_pct < NAMING_MATTERS_PCT)
                return false;
        str_addf(to, "%.0f %% of ", n->unlined_allocs_pct);
        if (n->is_of_time || unit_weights() == UNIT_NS)
                str_add(to, "the time went to code without source lines, most of it");
        else
                str_addf(to, "%s come from code without source lines, most of them",
                         unit_weights() == UNIT_BYTES ? "allocations" : unit_weight_name());
        if (worst->path[0])
                str_addf(to, " in %s: %s.", module_name(worst), worst->names->text);
        else
                add_made(n, to);
        return true;
}

bool name_quality_add_note(const struct name_quality *n, const struct query *q, struct str *to) {
        const struct trace_view *v = query_view(q);

        if (v->n_stacks < 2)
                return false;
        if (v->n_symbols == 0 && v->n_module_names == 0) {
                str_add(to, "The trace contains no names: run 'silt symbolize' to look them up.");
                return true;
        }
        return add_lineless(n, to) || add_unnamed(n, to);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *naming_name(const struct trace_module_names *names) {
        switch (names ? (enum trace_naming)names->naming : TRACE_NAMING_UNKNOWN) {
        case TRACE_NAMING_FULL: return "full";
        case TRACE_NAMING_SYMTAB: return "symbol-table";
        case TRACE_NAMING_DYNSYM: return "exported-only";
        case TRACE_NAMING_NOTHING: return "nothing";
        case TRACE_NAMING_MISSING: return "missing";
        case TRACE_NAMING_REPLACED: return "replaced";
        case TRACE_NAMING_DAMAGED: return "damaged";
        case TRACE_NAMING_CRASHED: return "crashed";
        case TRACE_NAMING_TIMED_OUT: return "timed-out";
        case TRACE_NAMING_OVER_MEMORY: return "over-memory";
        case TRACE_NAMING_UNKNOWN:
        case TRACE_N_NAMINGS: break;
        }
        return "unknown";
}

void name_quality_put(struct json *j, const struct name_quality *n) {
        json_put_double(j, "lined_frames_pct", n->lined_frames_pct, 3);
        json_key(j, "modules");
        json_array(j);
        for (size_t i = 0; i < n->n_modules; i++) {
                const struct name_module *m = &n->modules[i];

                json_object(j);
                json_put_string(j, "module", m->path);
                json_put_uint(j, "frames", m->n_frames);
                json_put_uint(j, "named", m->n_named);
                json_put_uint(j, "guessed", m->n_guessed);
                json_put_uint(j, "lined", m->n_lined);
                json_put_string(j, "naming", naming_name(m->names));
                json_put_string(j, "debug_file", m->names ? m->names->file : "");
                json_put_string(j, "text", m->names ? m->names->text : "");
                json_end(j);
        }
        json_end(j);
}
