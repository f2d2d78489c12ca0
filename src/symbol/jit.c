/* SPDX-License-Identifier: MIT */
#include "symbol/jit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "symbol/perfmap.h"

struct place {
        uint64_t address; /* of the call, not of what it returns to */
        uint32_t location;
};

struct jit {
        struct trace_reader *trace;
        const struct trace_view *view;
        struct arena *arena;
        const char **names;   /* by location; NULL none */
        bool *is_contested;   /* by location: processes name it differently */
        size_t n_raw, n_maps; /* locations in no file; maps read */
        uint32_t refused_pid; /* whose map was not to be trusted; 0 none */
        int why_refused;
};

static bool is_raw(const struct jit *j, uint32_t location) {
        return location < j->view->n_locations &&
               j->view->locations[location].module == UINT32_MAX &&
               j->view->locations[location].offset > 0;
}

/* ---- which locations a process has ----------------------------------------------------------- */

struct walk {
        const struct jit *jit;
        uint32_t process;
        bool *is_seen;  /* by stack */
        bool *is_taken; /* by location */
        VEC(struct place) places;
};

static void walk_stack(struct walk *w, uint32_t stack) {
        const struct trace_view *v = w->jit->view;

        /* a parent is defined before its children: no way leads round */
        while (stack && stack < v->n_stacks && !w->is_seen[stack]) {
                uint32_t location = v->stacks[stack].location;

                w->is_seen[stack] = true;
                if (is_raw(w->jit, location) && !w->is_taken[location]) {
                        w->is_taken[location] = true;
                        vec_push(&w->places,
                                 (struct place){v->locations[location].offset - 1, location});
                }
                stack = v->stacks[stack].parent;
        }
}

static void walk_sites(struct walk *w, const struct trace_site *sites, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (sites[i].process == w->process)
                        walk_stack(w, sites[i].stack);
}

/* The newest checkpoint has every site until then; slices have the rest. */
static void walk_process(struct walk *w) {
        struct trace_reader *t = w->jit->trace;
        size_t n_slices = w->jit->view->n_slices, first = 0, slice, n;
        const struct trace_counts *counts;
        const struct trace_site *sites;
        size_t n_counts;
        struct err e = {0};

        if (n_slices &&
            trace_read_checkpoint(t, n_slices - 1, &slice, &sites, &n, &counts, &n_counts, &e) ==
                    0 &&
            slice != SIZE_MAX) {
                walk_sites(w, sites, n);
                first = slice + 1;
        }
        for (slice = first; slice < n_slices; slice++)
                if (trace_read_sites(t, slice, &sites, &n, &e) == 0)
                        walk_sites(w, sites, n);
}

/* Where the time went is told by no site. */
static void walk_ticks(struct walk *w) {
        struct trace_reader *t = w->jit->trace;
        const struct trace_view *v = w->jit->view;
        const struct trace_tick *ticks;
        struct err e = {0};
        size_t n;

        for (size_t span = 0; span < trace_n_tick_spans(t); span++) {
                if (trace_read_ticks(t, span, &ticks, &n, &e) != 0)
                        continue;
                for (size_t i = 0; i < n; i++)
                        if (ticks[i].thread < v->n_threads &&
                            v->threads[ticks[i].thread].start.process == w->process)
                                walk_stack(w, ticks[i].stack);
        }
}

/* ---- their names ----------------------------------------------------------------------------- */

static int place_compare(const void *a, const void *b) {
        const struct place *x = a, *y = b;

        return x->address < y->address ? -1 : x->address > y->address;
}

static void name_places(struct jit *j, struct place *places, size_t n, int map_fd) {
        _cleanup_free_ uint64_t *addresses = calloc(n + 1, sizeof(*addresses));
        _cleanup_free_ const char **names = calloc(n + 1, sizeof(*names));

        if (!addresses || !names)
                abort();
        qsort(places, n, sizeof(places[0]), place_compare);
        for (size_t i = 0; i < n; i++)
                addresses[i] = places[i].address;
        perfmap_name(map_fd, addresses, n, j->arena, names);
        for (size_t i = 0; i < n; i++) {
                const char **known = &j->names[places[i].location];

                if (*known && names[i] && strcmp(*known, names[i]) != 0)
                        j->is_contested[places[i].location] = true;
                else if (names[i])
                        *known = names[i];
        }
}

static void name_process(struct jit *j, uint32_t process) {
        const struct trace_process *p = &j->view->processes[process].start;
        struct walk w = {.jit = j, .process = process};
        int fd = perfmap_open(p->pid, j->view->meta.started_unix_ns + p->start_ns);

        if (fd < 0) {
                if (fd != -ENOENT) {
                        j->refused_pid = p->pid;
                        j->why_refused = fd;
                }
                return;
        }
        j->n_maps++;
        w.is_seen = calloc(j->view->n_stacks + 1, sizeof(bool));
        w.is_taken = calloc(j->view->n_locations + 1, sizeof(bool));
        if (!w.is_seen || !w.is_taken)
                abort();
        walk_process(&w);
        walk_ticks(&w);
        if (w.places.n)
                name_places(j, w.places.items, w.places.n, fd);
        vec_free(&w.places);
        free(w.is_seen);
        free(w.is_taken);
        close(fd);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void set_origin(const struct jit *j, size_t n_named, struct symbol_origin *ret) {
        *ret = (struct symbol_origin){.naming = TRACE_NAMING_UNKNOWN};
        if (!j->n_raw)
                return;
        ret->naming = n_named ? TRACE_NAMING_SYMTAB : TRACE_NAMING_MISSING;
        if (n_named == j->n_raw)
                return;
        if (j->refused_pid)
                snprintf(
                        ret->text, sizeof(ret->text),
                        "code generated at run time: ignored '/tmp/perf-%u.map' because %s: remove it and record again",
                        j->refused_pid,
                        j->why_refused == -EPERM    ? "it belongs to another user"
                        : j->why_refused == -ESTALE ? "it is older than the process"
                        : j->why_refused == -EINVAL ? "it is not a regular file"
                                                    : strerror(-j->why_refused));
        else if (!j->n_maps)
                snprintf(
                        ret->text, sizeof(ret->text),
                        "code generated at run time, without a /tmp/perf-PID.map that names it: let the runtime write one (node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, PYTHONPERFSUPPORT=1, DOTNET_PerfMapEnabled=1)");
        else
                snprintf(ret->text, sizeof(ret->text),
                         "code generated at run time: /tmp/perf-PID.map names %zu of %zu places",
                         n_named, j->n_raw);
}

static int location_compare(const void *a, const void *b) {
        const struct trace_symbol *x = a, *y = b;

        return x->location < y->location ? -1 : x->location > y->location;
}

/* A map is there when its process ends, and seldom later: what the trace has stays. */
static const struct trace_symbol *find_known(const struct jit *j, uint32_t location) {
        struct trace_symbol key = {.location = location};

        return j->view->n_symbols ? bsearch(&key, j->view->symbols, j->view->n_symbols, sizeof(key),
                                            location_compare)
                                  : NULL;
}

static bool emit(const struct jit *j, uint32_t location, symbol_fn fn, void *ctx) {
        struct trace_symbol s = {.location = location,
                                 .function = j->names[location],
                                 .file = "",
                                 .guess = j->is_contested[location]};
        const struct trace_symbol *known;

        if (!is_raw(j, location))
                return false;
        known = s.function ? NULL : find_known(j, location);
        if (!s.function && !known)
                return false;
        fn(ctx, known ? known : &s);
        return true;
}

void jit_name(struct trace_reader *t, symbol_fn fn, void *ctx, struct symbol_origin *ret_origin) {
        struct jit j = {.trace = t, .view = trace_view(t)};
        size_t n_named = 0;

        for (size_t i = 0; i < j.view->n_locations; i++)
                j.n_raw += is_raw(&j, (uint32_t)i);
        if (!j.n_raw) {
                set_origin(&j, 0, ret_origin);
                return;
        }
        j.arena = arena_new();
        j.names = calloc(j.view->n_locations, sizeof(*j.names));
        j.is_contested = calloc(j.view->n_locations, sizeof(*j.is_contested));
        if (!j.names || !j.is_contested)
                abort();
        for (size_t i = 0; i < j.view->n_processes; i++)
                name_process(&j, (uint32_t)i);
        for (size_t i = 0; i < j.view->n_locations; i++)
                n_named += emit(&j, (uint32_t)i, fn, ctx);
        set_origin(&j, n_named, ret_origin);
        free(j.names);
        free(j.is_contested);
        arena_free(j.arena);
}
