/* SPDX-License-Identifier: MIT */
/* massif's snapshots, as valgrind writes them:
 *
 *   time_unit: i                            instructions; ms: milliseconds; B: bytes allocated
 *   snapshot=3
 *   time=301
 *   mem_heap_B=235640                       what was asked of malloc; its own bytes and stacks are not taken
 *   heap_tree=detailed                      or peak; empty: a total without call paths
 *   n2: 235640 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *    n1: 230000 0x109175: big (m.c:3)       who asked; below it, one blank deeper each, its callers
 *     n0: 230000 0x1091B7: main (m.c:6)
 *    n0: 5640 in 12 places, all below massif's threshold (1.00%)
 *
 * valgrind --xtree-memory writes the same form (desc: xtree.produce_report), in which a snapshot is no moment but a sum:
 *
 *   n2: 235640 curB : currently allocated Bytes      curBk blocks; with =full totB, totBk: what was ever allocated. totFdB and
 *                                                    totFdBk, what was freed, are by who freed it: not taken
 *
 * A snapshot is a moment. What a tree leaves out, and totals without a tree, are call paths that say so. massif takes the details of a
 * peak only where it is 1 % (--peak-inaccuracy) above the last: totals above the one it calls the peak by no more are left out, and told.
 * It takes them only before a block is freed: a program that grows to its end is far above that peak, and the peak is a total. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/units.h"
#include "import/import_format.h"
#include "import/import_frames.h"

enum { MASSIF_MAX_SNAPSHOTS = 4096, MASSIF_MAX_DEPTH = 1024 };

struct massif_node {
        const char *text;
        uint64_t bytes, told_bytes; /* the latter: of its children */
        size_t caller; /* of itself: the one above it in the tree, whose index is lower; its own at the top */
};

struct massif_path {
        size_t node;
        uint64_t bytes;
};

struct massif_snapshot {
        uint64_t time_milli, bytes;
        size_t first, n;   /* of its paths */
        const char *label; /* of its tree; "" it has none */
        bool has_tree, is_peak;
};

struct massif {
        struct import_input *in;
        struct import_trace *t;
        struct import_frames frames;
        struct arena *arena;
        VEC(struct massif_node) nodes;
        VEC(size_t) chain; /* from the top of the tree to the line read last */
        VEC(size_t) walk;  /* the same of a path, while its stack is made */
        VEC(struct massif_path) paths;
        VEC(struct massif_snapshot) snapshots;
        const char *command;
        double inaccuracy_pct; /* how far above the peak that has call paths a total may be */
        bool has_ms, has_pages;
};

static bool matches(const uint8_t *head, size_t n) {
        return n > 6 && memcmp(head, "desc: ", 6) == 0 && memmem(head, n, "\ntime_unit: ", 12);
}

static bool matches_xtree(const uint8_t *head, size_t n) {
        static const char mark[] = "desc: xtree.produce_report\n";

        return n > sizeof(mark) && memcmp(head, mark, sizeof(mark) - 1) == 0 && matches(head, n);
}

/* ---- trees ------------------------------------------------------------------------------------- */

static int stack_of(struct massif *m, size_t node, uint32_t *ret, struct err *reterr) {
        import_frames_clear(&m->frames);
        vec_clear(&m->walk);
        for (; m->nodes.items[node].caller != node; node = m->nodes.items[node].caller)
                vec_push(&m->walk, node);
        for (size_t i = m->walk.n; i-- > 0;) {
                const char *text = m->nodes.items[m->walk.items[i]].text;

                if (strncmp(text, "in ", 3) == 0)
                        import_frames_add(&m->frames,
                                          &(struct import_frame){
                                                  .function = {
                                                          .name = "(below massif's threshold)"}});
                else if (!import_frames_add_text(&m->frames, text))
                        return import_input_refuse(m->in, reterr, "'%.40s' is not a frame", text);
        }
        return import_frames_stack(&m->frames, m->t, ret, reterr);
}

/* Nodes below depth are over. What their children do not have is their own. */
static int close_nodes(struct massif *m, size_t depth, struct err *reterr) {
        while (m->chain.n > depth) {
                size_t node = m->chain.items[--m->chain.n];
                const struct massif_node *last = &m->nodes.items[node];

                if (last->told_bytes > last->bytes)
                        return import_input_refuse(m->in, reterr,
                                                   "callers have more bytes than what they called");
                if (last->bytes == last->told_bytes)
                        continue;
                vec_push(&m->paths, (struct massif_path){node, last->bytes - last->told_bytes});
                m->snapshots.items[m->snapshots.n - 1].n++;
        }
        return 0;
}

/* "  n1: 230000 0x109175: big (m.c:3)" */
static int take_node(struct massif *m, const char *line, struct err *reterr) {
        size_t depth = strspn(line, " ");
        const char *text = line + depth;
        uint64_t bytes, *told;
        char *end;
        int r;

        if (text[0] == 'n')
                strtoull(text + 1, &end, 10);
        if (text[0] != 'n' || text[1] < '0' || text[1] > '9' || strncmp(end, ": ", 2) != 0 ||
            end[2] < '0' || end[2] > '9')
                return import_input_refuse(m->in, reterr, "'%.40s' is no line of a snapshot", line);
        bytes = strtoull(end + 2, &end, 10);
        if (depth > m->chain.n || depth >= MASSIF_MAX_DEPTH || *end != ' ' || bytes >> 62)
                return import_input_refuse(m->in, reterr, "'%.40s' does not fit into its tree",
                                           line);
        r = close_nodes(m, depth, reterr);
        if (r < 0)
                return r;
        told = depth ? &m->nodes.items[m->chain.items[depth - 1]].told_bytes : NULL;
        if (told && __builtin_add_overflow(*told, bytes, told))
                return import_input_refuse(m->in, reterr, "sizes do not fit into 64 bits");
        if (!depth && bytes != m->snapshots.items[m->snapshots.n - 1].bytes)
                return import_input_refuse(m->in, reterr,
                                           "the tree has another size than its snapshot");
        text = arena_strdup(m->arena, end + 1);
        if (!depth)
                m->snapshots.items[m->snapshots.n - 1].label = text;
        vec_push(&m->chain, m->nodes.n);
        vec_push(&m->nodes, (struct massif_node){.text = text,
                                                 .bytes = bytes,
                                                 .caller = m->chain.items[depth ? depth - 1 : 0]});
        return 0;
}

/* ---- lines ------------------------------------------------------------------------------------- */

static bool number_of(const char *line, const char *key, uint64_t *ret) {
        size_t n = strlen(key);
        char *end;

        if (strncmp(line, key, n) != 0 || line[n] < '0' || line[n] > '9')
                return false;
        *ret = strtoull(line + n, &end, 10);
        return !*end && !(*ret >> 62);
}

/* "time=301", of silt's own short recordings "time=0.125": in thousandths. */
static bool time_of(const char *line, uint64_t *ret) {
        uint64_t scale = 100;
        char *end;

        if (strncmp(line, "time=", 5) != 0 || line[5] < '0' || line[5] > '9')
                return false;
        *ret = strtoull(line + 5, &end, 10);
        if (*ret > UINT64_MAX / 1000000000)
                return false;
        *ret *= 1000;
        if (*end == '.')
                for (end++; *end >= '0' && *end <= '9'; end++, scale /= 10)
                        *ret += (uint64_t)(*end - '0') * scale;
        return !*end;
}

static int take_snapshot(struct massif *m, struct err *reterr) {
        int r = close_nodes(m, 0, reterr);

        if (r < 0)
                return r;
        if (m->snapshots.n == MASSIF_MAX_SNAPSHOTS)
                return import_input_refuse(m->in, reterr, "more than %d snapshots",
                                           MASSIF_MAX_SNAPSHOTS);
        vec_push(&m->snapshots, (struct massif_snapshot){.first = m->paths.n, .label = ""});
        return 0;
}

/* "desc: --massif-out-file=x --peak-inaccuracy=2.5": the options that it was run with */
static void take_options(struct massif *m, const char *line) {
        const char *inaccuracy = strstr(line, "--peak-inaccuracy=");

        m->has_pages |= strstr(line, "--pages-as-heap=yes") != NULL;
        if (inaccuracy)
                m->inaccuracy_pct = strtod(inaccuracy + strlen("--peak-inaccuracy="), NULL);
}

static int take_line(struct massif *m, char *line, struct err *reterr) {
        struct massif_snapshot *s = m->snapshots.n ? &m->snapshots.items[m->snapshots.n - 1] : NULL;
        uint64_t n;

        if (line[0] == '#' || line[0] == '\0')
                return 0;
        if (number_of(line, "snapshot=", &n))
                return take_snapshot(m, reterr);
        if (!s) {
                if (strncmp(line, "cmd: ", 5) == 0 && !m->command)
                        m->command = arena_strdup(m->arena, line + 5);
                m->has_ms |= strcmp(line, "time_unit: ms") == 0;
                m->frames.are_of_memory &= strcmp(line, "desc: recorded by silt") != 0;
                if (strncmp(line, "desc: ", 6) == 0)
                        take_options(m, line);
                return strchr(line, ':')
                               ? 0
                               : import_input_refuse(m->in, reterr, "'%.40s' is no line of a head",
                                                     line);
        }
        if (time_of(line, &s->time_milli) || number_of(line, "mem_heap_B=", &s->bytes) ||
            number_of(line, "mem_heap_extra_B=", &n) || number_of(line, "mem_stacks_B=", &n) ||
            strcmp(line, "heap_tree=empty") == 0)
                return 0;
        if (strcmp(line, "heap_tree=detailed") == 0 || strcmp(line, "heap_tree=peak") == 0) {
                s->is_peak = strcmp(line, "heap_tree=peak") == 0;
                s->has_tree = true;
                return 0;
        }
        if (!s->has_tree)
                return import_input_refuse(m->in, reterr, "'%.40s' is no line of a snapshot", line);
        return take_node(m, line, reterr);
}

/* ---- moments ----------------------------------------------------------------------------------- */

static int make_untold(struct massif *m, uint32_t *ret, struct err *reterr) {
        import_frames_clear(&m->frames);
        import_frames_add(&m->frames,
                          &(struct import_frame){
                                  .function = {.name = "(a snapshot without call paths)"}});
        return import_frames_stack(&m->frames, m->t, ret, reterr);
}

static int put_snapshot(struct massif *m, const struct massif_snapshot *s, uint32_t untold,
                        struct err *reterr) {
        uint32_t stack;
        int r = 0;

        for (size_t i = 0; i < s->n; i++) {
                const struct massif_path *p = &m->paths.items[s->first + i];

                r = stack_of(m, p->node, &stack, reterr);
                if (r < 0)
                        return r;
                r = import_trace_live(m->t, stack, 1, p->bytes);
                if (r < 0)
                        break;
        }
        if (!s->has_tree && s->bytes && r >= 0)
                r = import_trace_live(m->t, untold, 1, s->bytes);
        if (r < 0)
                return err_set(reterr, r, "'%s': sizes do not fit into 64 bits", m->in->path);
        return import_trace_moment(m->t, s->time_milli * 1000, reterr);
}

/* The totals that are above the peak whose call paths massif took. */
struct massif_above {
        uint64_t peak;     /* UINT64_MAX: massif calls none the peak */
        bool is_near;      /* they are so by its inaccuracy alone */
        size_t n_left_out; /* if near: those that are not the last */
        bool last_is_cut;  /* if near: the last one counts as the peak does */
};

static struct massif_above look_above(const struct massif *m) {
        struct massif_above a = {.peak = UINT64_MAX, .is_near = true};

        for (size_t i = 0; i < m->snapshots.n; i++)
                if (m->snapshots.items[i].is_peak)
                        a.peak = m->snapshots.items[i].bytes;
        for (size_t i = 0; i < m->snapshots.n; i++) {
                const struct massif_snapshot *s = &m->snapshots.items[i];

                if (s->has_tree || !s->bytes || s->bytes < a.peak)
                        continue;
                a.is_near &=
                        (double)(s->bytes - a.peak) <= (double)a.peak * m->inaccuracy_pct / 100;
                if (i + 1 < m->snapshots.n)
                        a.n_left_out++;
                else
                        a.last_is_cut = s->bytes > a.peak;
        }
        return a;
}

static void tell_above(const struct massif *m, const struct massif_above *a) {
        struct unit_text peak;
        char text[200];

        if (!a->is_near) {
                snprintf(text, sizeof(text),
                         "Massif took no call paths of its highest snapshot, and calls one of %s "
                         "the peak: with --detailed-freq=1 it takes all",
                         unit_bytes(&peak, a->peak));
                import_trace_limit(m->t, text);
                return;
        }
        if (a->n_left_out) {
                snprintf(text, sizeof(text),
                         "%zu snapshot%s without call paths, as high as massif's peak or up to its "
                         "--peak-inaccuracy above it, %s left out",
                         a->n_left_out, a->n_left_out == 1 ? "" : "s",
                         a->n_left_out == 1 ? "is" : "are");
                import_trace_limit(m->t, text);
        }
        if (a->last_is_cut) {
                snprintf(text, sizeof(text),
                         "The last snapshot is up to %g %% above massif's peak, and counts as high "
                         "as that",
                         m->inaccuracy_pct);
                import_trace_limit(m->t, text);
        }
}

static int put_moments(struct massif *m, const struct massif_above *above, struct err *reterr) {
        uint32_t untold;
        int r = make_untold(m, &untold, reterr);

        for (size_t i = 0; i < m->snapshots.n && r >= 0; i++) {
                struct massif_snapshot s = m->snapshots.items[i];

                if (above->is_near && !s.has_tree && s.bytes >= above->peak) {
                        if (i + 1 < m->snapshots.n)
                                continue;
                        s.bytes = above->peak;
                }
                r = put_snapshot(m, &s, untold, reterr);
        }
        return r;
}

static int put_snapshots(struct massif *m, struct err *reterr) {
        const struct massif_above above = look_above(m);
        int r;

        r = import_trace_begin(m->t,
                               &(struct import_begin){.is_totals = true,
                                                      .has_no_time = !m->has_ms,
                                                      .has_no_blocks = true,
                                                      .has_no_traffic = true,
                                                      .command = m->command},
                               reterr);
        if (r >= 0)
                r = put_moments(m, &above, reterr);
        if (r < 0)
                return r;
        tell_above(m, &above);
        if (m->has_pages)
                import_trace_limit(
                        m->t,
                        "Figures are pages that were mapped (--pages-as-heap=yes), of code and stacks too, not blocks of the heap");
        import_trace_limit(
                m->t,
                "What is live at the end is that of the last snapshot, which may be before the program's end");
        return r;
}

/* ---- sums -------------------------------------------------------------------------------------- */

enum massif_sum { SUM_LIVE_BYTES, SUM_LIVE_BLOCKS, SUM_BYTES, SUM_BLOCKS, N_SUMS, SUM_OF_FREER };

static int sum_of(const struct massif *m, const struct massif_snapshot *s, enum massif_sum *ret,
                  struct err *reterr) {
        static const char *const labels[] = {"curB : ", "curBk : ", "totB : ", "totBk : "};

        for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
                if (strncmp(s->label, labels[i], strlen(labels[i])) == 0) {
                        *ret = (enum massif_sum)i;
                        return 0;
                }
        *ret = SUM_OF_FREER;
        if (strncmp(s->label, "totFd", 5) == 0)
                return 0;
        return import_input_refuse(m->in, reterr, "sums of '%.40s' are unknown", s->label);
}

struct massif_sums {
        uint32_t stack;
        uint64_t of[N_SUMS];
};

/* By stack, and whether what was ever allocated is among them. */
static int add_up(struct massif *m, struct massif_sums **ret, size_t *ret_n, struct err *reterr) {
        VEC(struct massif_sums) sums = {0};
        struct map sums_of = {0};
        enum massif_sum sum;
        uint32_t stack;
        int r = 0;

        for (size_t i = 0; i < m->snapshots.n && r >= 0; i++) {
                const struct massif_snapshot *s = &m->snapshots.items[i];

                r = sum_of(m, s, &sum, reterr);
                for (size_t k = 0; k < s->n && r >= 0 && sum != SUM_OF_FREER; k++) {
                        const struct massif_path *p = &m->paths.items[s->first + k];
                        bool is_new;
                        uint64_t idx;

                        r = stack_of(m, p->node, &stack, reterr);
                        if (r < 0)
                                break;
                        idx = *map_put(&sums_of, stack, sums.n, &is_new);
                        if (is_new)
                                vec_push(&sums, (struct massif_sums){.stack = stack});
                        if (__builtin_add_overflow(sums.items[idx].of[sum], p->bytes,
                                                   &sums.items[idx].of[sum]))
                                r = import_input_refuse(m->in, reterr,
                                                        "sizes do not fit into 64 bits");
                }
        }
        map_done(&sums_of);
        *ret = sums.items;
        *ret_n = sums.n;
        return r;
}

static int put_sums_of(struct massif *m, const struct massif_sums *s, bool has_traffic,
                       uint64_t *n_larger) {
        uint64_t n_live = s->of[SUM_LIVE_BLOCKS], live = s->of[SUM_LIVE_BYTES];
        uint64_t n = MAX(s->of[SUM_BLOCKS], n_live), bytes = MAX(s->of[SUM_BYTES], live);

        if (!has_traffic)
                return import_trace_live(m->t, s->stack, n_live, live);
        *n_larger += n > s->of[SUM_BLOCKS] || bytes > s->of[SUM_BYTES];
        return import_trace_total(m->t, s->stack,
                                  &(struct import_total){n, bytes, n - n_live, bytes - live});
}

/* One moment, the end. */
static int put_sums(struct massif *m, struct err *reterr) {
        struct import_begin begin = {.is_totals = true,
                                     .has_no_time = !m->has_ms,
                                     .has_no_traffic = true,
                                     .has_no_peak = true,
                                     .command = m->command};
        struct massif_sums *sums = NULL;
        uint64_t n_larger = 0;
        size_t n = 0;
        int r;

        for (size_t i = 0; i < m->snapshots.n; i++)
                if (strncmp(m->snapshots.items[i].label, "totB : ", 7) == 0)
                        begin.has_no_traffic = false;
        r = import_trace_begin(m->t, &begin, reterr);
        if (r >= 0)
                r = add_up(m, &sums, &n, reterr);
        for (size_t i = 0; i < n && r >= 0; i++) {
                r = put_sums_of(m, &sums[i], !begin.has_no_traffic, &n_larger);
                if (r < 0)
                        err_set(reterr, r, "'%s': sizes do not fit into 64 bits", m->in->path);
        }
        free(sums);
        if (r < 0)
                return r;
        if (!begin.has_no_traffic)
                import_trace_limit(m->t, "Who freed the blocks is left out");
        import_trace_tell_larger(m->t, n_larger);
        return import_trace_moment(m->t, m->snapshots.items[0].time_milli * 1000, reterr);
}

static int read_with(struct import_input *in, struct import_trace *t,
                     int (*put)(struct massif *, struct err *), struct err *reterr) {
        struct massif m = {.in = in, .t = t, .arena = arena_new(), .inaccuracy_pct = 1};
        char *line;
        size_t n;
        int r;

        import_frames_init(&m.frames);
        m.frames.are_of_memory = true; /* unless silt wrote it */
        while ((r = import_input_line(in, &line, &n, reterr)) > 0) {
                r = take_line(&m, line, reterr);
                if (r < 0)
                        break;
        }
        if (r >= 0)
                r = close_nodes(&m, 0, reterr);
        if (r >= 0 && !m.snapshots.n)
                r = import_input_refuse(in, reterr, "no snapshots");
        if (r >= 0)
                r = put(&m, reterr);
        vec_free(&m.nodes);
        vec_free(&m.chain);
        vec_free(&m.walk);
        vec_free(&m.paths);
        vec_free(&m.snapshots);
        import_frames_done(&m.frames);
        arena_free(m.arena);
        return r;
}

static int read_massif(struct import_input *in, struct import_trace *t, struct err *reterr) {
        return read_with(in, t, put_snapshots, reterr);
}

static int read_xtree(struct import_input *in, struct import_trace *t, struct err *reterr) {
        return read_with(in, t, put_sums, reterr);
}

const struct import_format import_xtree = {
        .name = "xtree",
        .title = "an xtree of valgrind",
        .lacks = "sums by call path at one moment, but no peak, no single blocks and no threads",
        .ends_with_line = true,
        .matches = matches_xtree,
        .read = read_xtree,
};

const struct import_format import_massif = {
        .name = "massif",
        .title = "a massif profile",
        .lacks =
                "live bytes at snapshots, some of them by call path, but no numbers of blocks and nothing about what was allocated and freed between them; the allocator's own bytes and stacks are left out",
        .ends_with_line = true,
        .matches = matches,
        .read = read_massif,
};
