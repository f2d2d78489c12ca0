/* SPDX-License-Identifier: MIT */
#include "import/heap_dump.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

enum { HEAP_MAX_FRAMES = 1024 };

void heap_dump_init(struct heap_dump *d) {
        *d = (struct heap_dump){.arena = arena_new(), .program = ""};
        import_maps_init(&d->maps);
}

void heap_dump_done(struct heap_dump *d) {
        import_maps_done(&d->maps);
        map_done(&d->symbols);
        vec_free(&d->addresses);
        vec_free(&d->paths);
        d->arena = arena_free(d->arena);
}

/* ---- lines ------------------------------------------------------------------------------------- */

void heap_dump_add_symbol(struct heap_dump *d, uint64_t address, const struct heap_symbol *symbol) {
        bool is_new;
        uint64_t *at = map_put(&d->symbols, address, 0, &is_new);

        if (is_new)
                *at = (uint64_t)(uintptr_t)arena_memdup(d->arena, symbol, sizeof(*symbol));
}

/* "outer--inner" */
static struct heap_symbol split_names(struct heap_dump *d, char *names) {
        struct heap_symbol symbol = {{.name = names, .file = ""}, NULL};
        char *at;

        for (size_t n = 1; n < HEAP_MAX_INLINED && (at = strstr(names, "--")); n++) {
                *at = '\0';
                names = at + 2;
                symbol = (struct heap_symbol){{.name = names, .file = ""},
                                              arena_memdup(d->arena, &symbol, sizeof(symbol))};
        }
        return symbol;
}

/* "0x0000000000401234 outer--inner": what jeprof --raw puts before a profile. */
static bool take_symbol(struct heap_dump *d, const char *line) {
        char *end, *name;
        struct heap_symbol symbol;
        uint64_t address;

        if (strncmp(line, "0x", 2) != 0)
                return false;
        address = strtoull(line, &end, 16);
        if (*end != ' ')
                return false;
        name = arena_strdup(d->arena, end + 1);
        if ((end = strrchr(name, '<')) && end > name && strspn(end + 1, "0123456789abcdef") == 16)
                *end = '\0'; /* "main<0000000000001174>": which of several */
        symbol = split_names(d, name);
        heap_dump_add_symbol(d, address, &symbol);
        return true;
}

/* Of silt alone, among the mapped files, where others pass it over: the figures stand for all blocks already. */
static const char estimates[] = "# silt: estimates from samples, one in bytes: ";

/* The program lies first among the mapped files, and is no library. */
static void name_program(struct heap_dump *d) {
        const char *path = d->maps.list.n == 1 ? d->maps.list.items[0].path : NULL;

        if (path && !d->program[0] && !strstr(path, ".so"))
                d->program = arena_strdup(d->arena, path);
}

int heap_dump_take_line(struct heap_dump *d, const char *line, const struct import_input *in,
                        struct err *reterr) {
        (void)in;
        (void)reterr;
        if (d->in_maps && strncmp(line, estimates, sizeof(estimates) - 1) == 0) {
                d->is_scaled = d->sample_bytes <= 1;
                if (d->is_scaled)
                        d->sample_bytes = strtoull(line + sizeof(estimates) - 1, NULL, 10);
                return 1;
        }
        if (d->in_maps) {
                import_maps_add_line(&d->maps, line);
                name_program(d);
                return 1;
        }
        if (strcmp(line, "MAPPED_LIBRARIES:") == 0) {
                d->in_maps = true;
                return 1;
        }
        if (strncmp(line, "binary=", 7) == 0) {
                d->program = arena_strdup(d->arena, line + 7);
                return 1;
        }
        return line[0] == '\0' || strncmp(line, "---", 3) == 0 || take_symbol(d, line);
}

int heap_dump_take_path(struct heap_dump *d, const char *text, const struct import_input *in,
                        struct err *reterr) {
        struct heap_path p = {.first = d->addresses.n};
        char *end;

        text += strspn(text, " ");
        while (*text) {
                uint64_t address = strtoull(text, &end, 16);

                if (end == text || (*end && *end != ' ') || p.n == HEAP_MAX_FRAMES)
                        return import_input_refuse(in, reterr,
                                                   "a call path is not a list of addresses");
                vec_push(&d->addresses, address);
                p.n++;
                text = end + strspn(end, " ");
        }
        vec_push(&d->paths, p);
        return 0;
}

static bool take_number(const char **text, const char *behind, uint64_t *ret) {
        const char *s = *text + strspn(*text, " ");
        char *end;

        if (*s < '0' || *s > '9')
                return false;
        errno = 0;
        *ret = strtoull(s, &end, 10);
        s = end + strspn(end, " ");
        if (errno || strncmp(s, behind, strlen(behind)) != 0)
                return false;
        *text = s + strlen(behind);
        return true;
}

bool heap_dump_parse_sums(const char *text, struct heap_path *p, const char **ret_rest) {
        p->has_sums =
                take_number(&text, ":", &p->n_live) && take_number(&text, "[", &p->live_bytes) &&
                take_number(&text, ":", &p->n_allocs) && take_number(&text, "]", &p->alloc_bytes);
        *ret_rest = text;
        return p->has_sums;
}

/* ---- the trace --------------------------------------------------------------------------------- */

/* To be scaled. */
static bool is_sampled(const struct heap_dump *d) {
        return d->scaling != HEAP_EXACT && d->sample_bytes > 1 && !d->is_scaled;
}

/* Of samples, whether they are scaled here or were before. */
static bool is_estimate(const struct heap_dump *d) {
        return d->sample_bytes > 1 && (is_sampled(d) || d->is_scaled);
}

static double factor(const struct heap_dump *d, uint64_t n, uint64_t bytes) {
        double mean = n ? (double)bytes / (double)n : 0, distance = (double)d->sample_bytes;

        if (!is_sampled(d) || mean <= 0)
                return 1;
        /* that its last bits are pprof's, too */
        return d->cuts_fractions ? 1 / (1 - exp(-mean / distance)) : 1 / -expm1(-mean / distance);
}

static uint64_t scaled(const struct heap_dump *d, uint64_t n, double by) {
        double all = MIN((double)n * by, 9e18);

        return d->cuts_fractions ? (uint64_t)all : (uint64_t)llround(all);
}

static const struct heap_symbol *symbol_of(const struct heap_dump *d, uint64_t address) {
        uint64_t symbol;

        /* callers stand there by their call, one byte before the return address */
        if (!map_get(&d->symbols, address - 1, &symbol) && !map_get(&d->symbols, address, &symbol))
                return NULL;
        return (const struct heap_symbol *)(uintptr_t)symbol;
}

size_t heap_dump_name_place(const struct heap_dump *d, uint64_t address,
                            struct import_function ret[HEAP_MAX_INLINED]) {
        size_t n = 0;

        for (const struct heap_symbol *s = symbol_of(d, address); s && n < HEAP_MAX_INLINED;
             s = s->outer)
                ret[n++] = s->function;
        return n;
}

static bool names_some(const struct heap_dump *d, const struct heap_path *p) {
        for (size_t i = 0; i < p->n; i++)
                if (symbol_of(d, d->addresses.items[p->first + i]))
                        return true;
        return false;
}

/* A frame of the allocator itself, told by the name of its file: that is stripped more often than not. */
static bool is_inside_allocator(struct heap_dump *d, uint64_t address) {
        static const char *const names[] = {"libjemalloc.so", "libtcmalloc"};
        uint64_t in_file;
        const char *path = import_maps_find(&d->maps, address, &in_file);
        const char *slash = path ? strrchr(path, '/') : NULL;

        for (size_t i = 0; i < ARRAY_SIZE(names) && slash; i++)
                if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
                        return true;
        return false;
}

static int find_stack(struct heap_dump *d, const struct heap_path *p, struct import_trace *t,
                      uint32_t *ret, struct err *reterr) {
        struct import_function functions[HEAP_MAX_INLINED];
        bool only_named = d->leaves_unnamed_out && names_some(d, p);
        uint32_t stack = 0;
        size_t first = 0;
        int r;

        while (first + 1 < p->n && is_inside_allocator(d, d->addresses.items[p->first + first]))
                first++;
        for (size_t i = p->n; i-- > first;) {
                uint64_t address = d->addresses.items[p->first + i];
                struct import_place place = {.functions = functions};

                place.module = import_maps_find(&d->maps, address, &place.address);
                place.n_functions = heap_dump_name_place(d, address, functions);
                if (only_named && !place.n_functions)
                        continue;
                r = import_trace_call(t, &place, &stack, reterr);
                if (r < 0)
                        return r;
        }
        *ret = stack;
        return 0;
}

static int put_path(struct heap_dump *d, const struct heap_path *p, struct import_trace *t,
                    struct err *reterr) {
        double live_by = factor(d, p->n_live, p->live_bytes),
               allocs_by = factor(d, p->n_allocs, p->alloc_bytes);
        uint64_t n_live = scaled(d, p->n_live, live_by),
                 live_bytes = scaled(d, p->live_bytes, live_by);
        uint64_t n_allocs = scaled(d, p->n_allocs, allocs_by),
                 alloc_bytes = scaled(d, p->alloc_bytes, allocs_by);
        uint32_t stack = 0;
        int r = find_stack(d, p, t, &stack, reterr);

        if (r < 0)
                return r;
        if (!d->has_allocs)
                return import_trace_live(t, stack, n_live, live_bytes);
        /* both are estimates, rounded each for itself: what lives was allocated */
        n_allocs = MAX(n_allocs, n_live);
        alloc_bytes = n_allocs == n_live ? live_bytes : MAX(alloc_bytes, live_bytes);
        return import_trace_total(t, stack,
                                  &(struct import_total){n_allocs, alloc_bytes, n_allocs - n_live,
                                                         alloc_bytes - live_bytes});
}

/* jemalloc counts them with prof_accum alone; tcmalloc writes what its samples have live twice. */
static bool has_allocs(const struct heap_dump *d) {
        bool is_twice = d->has_live_twice;

        for (size_t i = 0; i < d->paths.n && is_twice; i++)
                is_twice = d->paths.items[i].n_allocs == d->paths.items[i].n_live &&
                           d->paths.items[i].alloc_bytes == d->paths.items[i].live_bytes;
        for (size_t i = 0; i < d->paths.n && !is_twice; i++)
                if (d->paths.items[i].n_allocs > 0)
                        return true;
        return false;
}

/* What the head counts and no row has: gperftools cuts a file at 1 MiB while it writes it. */
static struct heap_path missing_of(const struct heap_dump *d) {
        struct heap_path rest = d->head;

        for (size_t i = 0; i < d->paths.n; i++) {
                const struct heap_path *p = &d->paths.items[i];

                rest.n_live -= MIN(rest.n_live, p->n_live);
                rest.live_bytes -= MIN(rest.live_bytes, p->live_bytes);
                rest.n_allocs -= MIN(rest.n_allocs, p->n_allocs);
                rest.alloc_bytes -= MIN(rest.alloc_bytes, p->alloc_bytes);
        }
        return rest;
}

/* Sums of samples cannot be scaled without their call paths: those are only told. */
static int put_missing(struct heap_dump *d, struct import_trace *t, const struct import_input *in,
                       struct err *reterr) {
        const struct import_function unknown = {.name = "(left out when the file was written)"};
        const struct import_place place = {.functions = &unknown, .n_functions = 1};
        struct heap_path rest = missing_of(d);
        bool is_live = rest.live_bytes > 0, is_put;
        struct unit_text has, counts;
        uint32_t stack = 0;
        char text[240];
        int r;

        if (!is_live && !rest.alloc_bytes)
                return 0;
        if (d->has_allocs) {
                rest.n_allocs = MAX(rest.n_allocs, rest.n_live);
                rest.alloc_bytes = MAX(rest.alloc_bytes, rest.live_bytes);
        }
        is_put = !is_sampled(d) && (!rest.live_bytes || rest.n_live) &&
                 (rest.alloc_bytes == rest.live_bytes || rest.n_allocs > rest.n_live);
        snprintf(
                text, sizeof(text),
                "Its call paths have %s of the %s %s that its head counts: the file was cut when it was written%s",
                unit_bytes(&has, is_live ? d->head.live_bytes - rest.live_bytes
                                         : d->head.alloc_bytes - rest.alloc_bytes),
                unit_bytes(&counts, is_live ? d->head.live_bytes : d->head.alloc_bytes),
                is_live ? "live" : "allocated",
                is_put ? ", and the rest has no call path" : ", and the rest is missing");
        /* of a timeline, a call path that is missing would keep what it had */
        if (is_put && import_trace_n_files(t) > 1)
                return err_set(
                        reterr, -EINVAL,
                        "'%s' was cut when it was written, and lacks call paths that its head counts: import it alone",
                        in->path);
        import_trace_limit(t, text);
        r = is_put ? import_trace_call(t, &place, &stack, reterr) : 0;
        if (r < 0 || !is_put)
                return r;
        return !d->has_allocs
                       ? import_trace_live(t, stack, rest.n_live, rest.live_bytes)
                       : import_trace_total(t, stack,
                                            &(struct import_total){rest.n_allocs, rest.alloc_bytes,
                                                                   rest.n_allocs - rest.n_live,
                                                                   rest.alloc_bytes -
                                                                           rest.live_bytes});
}

/* Dumps have no time: moments are a second apart, in their order. */
int heap_dump_put(struct heap_dump *d, struct import_trace *t, const struct import_input *in,
                  struct err *reterr) {
        const struct import_begin begin = {.is_totals = true,
                                           .has_no_time = true,
                                           .has_no_traffic = !has_allocs(d),
                                           .has_no_peak = import_trace_n_files(t) == 1,
                                           .sample_bytes = is_estimate(d) ? d->sample_bytes : 0,
                                           .program = d->program};
        uint64_t n_larger = 0;
        int r;

        d->has_allocs = has_allocs(d);
        if (import_trace_is_begun(t) && d->has_allocs == import_trace_lacks_traffic(t))
                return err_set(
                        reterr, -EINVAL,
                        "of these dumps some count what was ever allocated, and some do not: import them one by one");
        r = import_trace_begin(t, &begin, reterr);
        if (r >= 0 && is_estimate(d))
                import_trace_estimates(t, d->sample_bytes);
        for (size_t i = 0; i < d->paths.n && r >= 0; i++) {
                const struct heap_path *p = &d->paths.items[i];

                if (p->has_sums)
                        r = put_path(d, p, t, reterr);
                n_larger += p->n_live > p->n_allocs || p->live_bytes > p->alloc_bytes;
        }
        if (r >= 0 && d->head.has_sums)
                r = put_missing(d, t, in, reterr);
        if (d->has_allocs && !is_estimate(d)) /* those of samples are rounded */
                import_trace_tell_larger(t, n_larger);
        return r < 0 ? r
                     : import_trace_moment(t, (import_trace_n_moments(t) + 1) * 1000000000ull,
                                           reterr);
}
