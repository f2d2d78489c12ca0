/* SPDX-License-Identifier: MIT */
/* The one way to ask a trace: who allocated what, in which window, and what was alive when.
 *
 *   query_open(path, &q, &err);
 *   struct query_scope scope = query_whole(q);              // the main process, all of the time
 *   scope.from_ns = 5000000000;                             // from the fifth second on
 *   query_ask(q, &scope, &answer, &err);
 *   query_sort_sites(answer->sites, answer->n_sites, QUERY_GROWTH);
 *
 * A window [from, to) holds the events whose time t is from <= t < to. Answers come from the
 * history of sites (rows of slices and checkpoints); events are read only for slices that an
 * edge of the window cuts, for filters on properties of single blocks, and by query_blocks,
 * query_threads and (for what they have room for) timelines. docs/query.md says what answers mean.
 *
 * One process: live and peak figures include what it inherited at fork. All processes
 * (QUERY_ALL): sites are added up by stack, and peak and end are of one sum over time: the blocks
 * of the processes alive at the moment, an inherited block once, in the process that allocated it
 * or, when that has ended, in an heir. The end is what the last of them held. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "base/macros.h"
#include "query/query_frame.h"
#include "trace/model.h"
#include "trace/reader.h"

enum { QUERY_ALL = TRACE_NO_PROCESS };

struct names;
struct query;

int query_open(const char *path, struct query **ret, struct err *reterr);
/* Another query of the same trace, for another thread: each is used by one at a time, and so are filters and names. It has the
 * symbols of the first (query_set_symbols) and names of its own (query_set_names). Whoever opened the trace makes the first one
 * before others begin to read it; then each may make more. Either may be freed first. */
struct query *query_open_shared(struct query *with);
/* Takes in what a recording has written since it was opened or refreshed: 1 there is more, 0 nothing, or -errno; -EBUSY while
 * other queries or cursors share it. The cost is that of what is new. Answers, views and cursors from before are not valid any
 * more; answers from now on are those of a trace opened now. Names given from elsewhere (query_set_symbols) stay. */
int query_refresh(struct query *q, struct err *reterr);
struct query *query_free(struct query *q); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct query, query_free)

const struct trace_view *query_view(const struct query *q);
uint64_t query_bytes_read(const struct query *q);
/* What points to what, at some moments (docs/holders.md): how many such graphs there are, and one of them in the bytes of the trace. */
size_t query_n_graphs(const struct query *q);
const struct trace_graph *query_graph(const struct query *q, size_t graph_idx);
int query_read_graph(struct query *q, size_t graph_idx, struct trace_graph *ret,
                     bytes_buf *ret_bytes, struct err *reterr);
/* What resident memory was made of, at some moments (docs/bill.md), the same way. */
size_t query_n_bills(const struct query *q);
const struct trace_bill *query_bill(const struct query *q, size_t bill_idx);
int query_read_bill(struct query *q, size_t bill_idx, struct trace_bill *ret, bytes_buf *ret_bytes,
                    struct err *reterr);
/* When allocations were made, by their numbers, which rise: of those in at most max_slices slices whose events the trace still has the very
 * time, of others the end of their slice, so that they are at least so old. UINT64_MAX: unknown. */
void query_alloc_times(struct query *q, const uint64_t *seqs, size_t n, size_t max_slices,
                       uint64_t *ret_ns);
/* One sentence about what could not be read so far, at opening or since; "" when all is whole. */
const char *query_damage(const struct query *q);

/* Called now and then while an answer is being made; done <= total, in no particular unit. False: stop. Then whoever was asked
 * returns -ECANCELED, and the query is as good as before. */
typedef bool (*query_progress_fn)(void *ctx, uint64_t done, uint64_t total);
void query_set_progress(struct query *q, query_progress_fn fn, void *ctx);
/* Answers that are not ready by then (CLOCK_MONOTONIC) end with -ETIME; 0: they may take their time. */
void query_set_deadline(struct query *q, uint64_t monotonic_ns);
/* For those who work long between two questions: says how far they are. -ECANCELED or -ETIME: they are to stop. */
int query_tell_progress(struct query *q, uint64_t done, uint64_t total, struct err *reterr);

/* How functions are called and which frames are folded away: the built-in rules, or others, which must live as long as
 * they are used. */
struct names *query_names(struct query *q);
void query_set_names(struct query *q, struct names *names);
/* Names of functions from elsewhere than the trace, in its own form (struct trace_view). They must live as long as the query. Before
 * anything is asked. */
void query_set_symbols(struct query *q, const struct trace_symbol *symbols, size_t n_symbols,
                       const struct trace_module_names *modules, size_t n_modules);
/* Teaches the names which functions of this trace only pass requests on to an allocator, by its call paths (docs/names.md,
 * "Wrappers"). Before anything is asked; traces that are shown beside each other first all of them. Fails only when it was told
 * to stop, and has taught nothing then. */
int query_learn_wrappers(struct query *q, struct err *reterr);

/* ---- what to ask about ----------------------------------------------------------------------- */

struct query_filter;
struct str;

struct query_scope {
        uint32_t process;                  /* process id of the trace, or QUERY_ALL */
        uint64_t from_ns, to_ns;           /* UINT64_MAX: to the end */
        const struct query_filter *filter; /* which blocks count; NULL: all. Not owned */
        /* What the program mapped itself instead of blocks: in totals, figures, groups, trees, histories and timelines a range
         * that may be touched is a block, and a call that maps an allocation. Conditions on single blocks are refused. */
        bool of_mappings;
        enum query_time {
                QUERY_NO_TIME,
                QUERY_CPU_TIME,
                QUERY_BLOCKED_TIME
        } of_time;      /* where the time went instead of blocks: query/spent_time.h */
        bool is_moment; /* of mappings: the peak is what was there where the window ends */
        bool is_quick; /* of samples: from history alone; errors are bounds, and the peak is the estimated curve's */
};

/* The moment nearest to time_ns at which history knows what was live: windows between such moments are answered without reading
 * events, and whatever detail was dropped. */
uint64_t query_edge_near(const struct query *q, uint64_t time_ns);

/* The mean distance in bytes of the samples it consists of, when it began; 0: every event is in it. */
uint64_t query_sample_bytes(const struct query *q);
/* The same of a recording of silt's or of another tool's, whose sums are estimates without errors. 0: its figures were counted, or nobody
 * says. */
uint64_t query_estimate_bytes(const struct query *q);
/* What stands where bytes stand (enum trace_unit): "bytes", "samples", "nanoseconds", "unknown". */
const char *query_unit_name(const struct query *q);

uint32_t query_main_process(const struct query *q); /* last image of the first pid */
struct query_scope query_whole(const struct query *q);
int query_find_process(const struct query *q, uint32_t pid, uint32_t *ret_process,
                       struct err *reterr);

/* ---- processes as people tell them apart ------------------------------------------------------ */

/* What it became by exec; TRACE_NO_PROCESS: nothing. */
uint32_t query_next_image(const struct query *q, uint32_t process);
/* Processes, each counted once, whatever programs it was. */
size_t query_n_pids(const struct query *q);
/* When the process ended, of QUERY_ALL the last of them; where that is unknown, when the recording did. */
uint64_t query_run_end_ns(const struct query *q, uint32_t process);
/* "redis-server"; the title it gave itself: "nginx: worker process". May hold anything, and be long; "" unknown. */
const char *query_process_name(const struct query *q, uint32_t process);
/* The same, not too long for a sentence. */
void query_add_process_name(const struct query *q, uint32_t process, struct str *to);
/* As query_choose_process takes it: its pid, or PID.IMAGE where that means another. */
void query_add_process_word(const struct query *q, uint32_t process, struct str *to);
/* Which process is meant: a pid, PID.IMAGE, a program's name or title or a part of it, "main", or "all" (QUERY_ALL).
 * NULL: all, where there are several. Refused with a list where none is meant, or more than one. */
int query_choose_process(struct query *q, const char *who, uint32_t *ret_process,
                         struct err *reterr);

enum query_metric {
        QUERY_PEAK,      /* live when the process peaked in the window */
        QUERY_END,       /* live at the window's end */
        QUERY_ALLOCATED, /* bytes allocated in the window */
        QUERY_COUNT,     /* allocations made in the window */
        QUERY_TEMPORARY, /* temporary allocations released in the window */
        QUERY_GROWTH,    /* live at the window's end minus live at its start */
        QUERY_MAPPED, /* mapped by the program itself when that was most; of answers about mappings alone */
        QUERY_CPU,     /* time that threads ran, in nanoseconds; of answers about time alone */
        QUERY_BLOCKED, /* that they waited for something; likewise */
        QUERY_N_METRICS,
};
const char *query_metric_name(enum query_metric m);
int query_metric_parse(const char *name, enum query_metric *ret,
                       struct err *reterr); /* NULL: peak */

/* ---- which blocks ---------------------------------------------------------------------------- */

/* Conditions on blocks, all of which must hold; docs/query.md lists them. A filter belongs to no
 * trace: it may be made before one is opened, and asked of several.
 *
 *   struct query_filter *f = query_filter_new();
 *   query_filter_add(f, "function", "^Cache::", &err);
 *   query_filter_add(f, "size", "1K..1M", &err);
 *   scope.filter = f; */
struct query_filter *query_filter_new(void);
struct query_filter *query_filter_free(struct query_filter *f); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct query_filter, query_filter_free)

/* The same conditions, to be added to; of NULL an empty one. */
struct query_filter *query_filter_copy(const struct query_filter *f);

/* kind: function, not-function, module, not-module, file, not-file, asked-by, not-asked-by, site,
 * not-site, thread,
 * process, size, lifetime, older-than, allocated, alive-at, freed-before. On failure the filter is as before. */
int query_filter_add(struct query_filter *f, const char *kind, const char *value,
                     struct err *reterr);
bool query_filter_is_empty(const struct query_filter *f); /* NULL or no condition: selects all */
/* Whether history does not suffice: some condition is on single blocks. */
bool query_filter_needs_events(const struct query_filter *f);
/* Times of conditions may be moments of a recording, @NAME, and an age (older-than) is one at the end of a window. Then *ret is
 * a filter of the caller's with what they are in q, asked about the process and window of `scope`; else it is NULL, and f does
 * as it is. A filter with such conditions that was not put through this selects nothing that can be relied on. */
int query_filter_name_times(const struct query_filter *f, struct query *q,
                            const struct query_scope *scope, struct query_filter **ret,
                            struct err *reterr);
/* Has older-than: it asks about what is alive at the window's end. */
bool query_filter_is_by_age(const struct query_filter *f);
/* Whether it asks how long blocks lived. */
bool query_filter_has_ages(const struct query_filter *f);
/* -ERANGE, and where the recording ends: of a time, or a number, behind that. */
int query_refuse_late(const struct query *q, struct err *reterr);
/* Has numbers of call paths: they are one trace's. */
bool query_filter_has_sites(const struct query_filter *f);
/* Refuses moments behind the end of a recording: they are slips. Where a range ends may lie behind it. */
int query_filter_check(const struct query_filter *f, const struct query *q, struct err *reterr);
/* The conditions in words that "blocks with …" can begin: "function /^Cache::/, size 1K..1M"; valid
 * until the filter changes. "" when empty. */
const char *query_filter_text(const struct query_filter *f);
/* One by one, as they were added. */
struct query_condition {
        const char *kind, *value; /* valid until the filter changes */
};
size_t query_filter_n(const struct query_filter *f); /* of NULL 0 */
struct query_condition query_filter_condition(const struct query_filter *f, size_t i);

/* ---- moments with a name --------------------------------------------------------------------- */

struct trace_note;

/* A snapshot, or a mark that a process made (include/silt/silt.h). */
struct query_moment {
        uint64_t time_ns;
        const char *
                name; /* the trace's; as it was given: it may hold anything but control characters */
        uint32_t pid; /* of a mark's process */
        bool is_snapshot;
        enum query_edge {
                QUERY_NO_EDGE,
                QUERY_START,
                QUERY_AT_PEAK,
                QUERY_FINISH
        } edge; /* one of the three */
};

/* False: the note is for people and names no moment. */
bool query_moment_of(const struct trace_note *note, struct query_moment *ret);

/* How long silt held the program's threads to attach to it, or to leave it. */
struct query_hold {
        uint64_t held_ns;
        bool is_leaving;
};
/* False: the note is another one. */
bool query_hold_of(const struct trace_note *note, struct query_hold *ret);
/* Processes of one program that silt could not enter. */
struct query_unseen {
        uint64_t n_processes;
        const char *program; /* the trace's, as are the next: "" unknown */
        size_t n_program;    /* its bytes */
        const char *why;
};
/* False: the note is another one. */
bool query_unseen_of(const struct trace_note *note, struct query_unseen *ret);
/* The earliest of that name; *ret_n_same (NULL: never mind): how many have it. Where neither snapshot nor mark is called so,
 * every recording has three more: start, end, and peak, the moment behind the event with which the process (QUERY_ALL: the
 * sum of all) held most. An unknown name is refused with the names there are. */
int query_find_moment(struct query *q, uint32_t process, const char *name, struct query_moment *ret,
                      size_t *ret_n_same, struct err *reterr);

/* ---- totals and sites ------------------------------------------------------------------------ */

struct query_totals {
        uint64_t n_allocs, n_frees, n_reallocs, n_failed, n_unknown_frees, n_prior_frees,
                n_implicit_frees;
        uint64_t alloc_bytes, n_temporary, n_lost, n_wrong_sizes;
        uint64_t n_complete_stacks; /* whole slices only: events do not carry it */
        uint64_t n_inversions;      /* likewise */
        uint64_t peak_bytes, peak_blocks, peak_ns;
        uint64_t begin_bytes, begin_blocks; /* live at from */
        uint64_t end_bytes, end_blocks;     /* live at to */
        bool has_left; /* of all processes, without a filter: what each had of its own at its end, or at to */
        uint64_t left_bytes, left_blocks, peak_rss_bytes; /* the last: 0 unknown */
        uint64_t runtime_bytes, blocked_ns, n_threads, n_sites;
        /* Recordings of totals: temporary ones, reallocations, failures, frees of a kind, threads, losses are unknown, and 0 */
        bool lacks_events;
        bool lacks_blocks; /* the source counted none: every number of allocations, frees and blocks means nothing */
        bool lacks_traffic; /* what was allocated and freed is unknown: only what was live at the moments is */
        bool lacks_threads; /* the source does not tell who did what: n_threads means nothing */
        bool lacks_reallocs; /* the source does not tell them from allocations and frees: unknown, and 0 */
        /* Another tool recorded it: calls that failed, lost events, frees of older blocks and of a wrong size, whether stacks are
         * complete, and what silt took are unknown, and 0 */
        bool is_imported;
        bool lacks_peak; /* of one moment: what was live at the peak is unknown, peak_bytes are that moment's */
        bool lacks_live; /* what was freed, and so what was live, is unknown: only what was allocated is; lacks_peak too */
        bool lacks_time; /* moments are numbered: peak_ns is n seconds for the n-th */
        bool counts_samples; /* of another unit than bytes: n_allocs are samples, which lacks_blocks is not about */
        /* Recordings of samples: allocations, frees, reallocations and bytes allocated are counted and not estimated */
        bool is_tallied;
        uint64_t n_allocs_est, alloc_bytes_est; /* then: what their call paths add up to */
        double var[QUERY_N_METRICS]; /* as in struct query_figures; of what is not counted */
};

/* Of which the sites have their parts. */
uint64_t query_metric_whole(const struct query_totals *t, enum query_metric m);

/* What happened to a set of blocks in the window, and what of it was live when. */
struct query_figures {
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes, n_temporary, n_reallocs;
        union {
                struct {
                        int64_t peak_bytes,
                                peak_blocks; /* live when the scope's live bytes were highest */
                        int64_t begin_bytes, begin_blocks; /* at from */
                        int64_t end_bytes, end_blocks;     /* at to */
                };
                int64_t values[6]; /* of other weights than blocks: query/path_weights.h */
        };
        /* Recordings of samples: how far each metric's value (bytes; count, temporary: blocks) may be from the truth, as
         * variances, which add up. Else 0. */
        double var[QUERY_N_METRICS];
        int64_t aged_bytes; /* query/ages.h; else 0, both */
        double aged_byte_s;
        bool lacks_events; /* of a recording of totals: temporary ones and reallocations are unknown, and 0 */
        bool lacks_blocks, lacks_traffic, lacks_live,
                counts_samples; /* as in struct query_totals */
};

/* The standard error of a metric of a recording of samples; 0: it is exact. */
double query_figures_error(const struct query_figures *f, enum query_metric m);

struct query_site {
        uint32_t stack;
        uint32_t process; /* QUERY_ALL in answers of query_ask: all of the scope together */
        struct query_figures f;
};

struct query_answer {
        /* as answered: an edge in a time whose events were dropped is moved to the nearest moment that is
         * known exactly */
        struct query_scope scope;
        bool is_moved;
        struct query_totals totals;
        struct query_site *sites;
        size_t n_sites;
        struct query_totals *processes;
        size_t n_processes; /* each for itself, same window; filtered: those of the scope only */
        /* n_processes, of all processes together and without a filter: what each counted in their sum when that was highest.
         * Else NULL */
        int64_t *held_bytes;
        bool is_exact; /* false: parts that were needed are missing from the file, or the next is true */
        /* of all processes, by single blocks: those that outlived their process in a child are not counted as live from its end on */
        bool lacks_heirs;
        /* blocks allocated before this are not in the answer: their events were dropped, and the filter
         * needs them. 0: all are in it */
        uint64_t known_from_ns;
        /* a recording of samples: by how much the highest point of the estimated curve lay above what was alive then,
         * which totals and sites no longer contain; and the variance of that. False: it is not known, and they do */
        bool is_peak_level;
        double peak_excess_bytes, peak_var;
};

/* All of the window is before that: the figures are 0 because nothing is known, not because nothing was there. */
static inline bool query_answer_is_untold(const struct query_answer *a) {
        return a->known_from_ns && a->scope.to_ns <= a->known_from_ns;
}

/* What a process held at most that it did not just inherit, as near as an answer tells. */
static inline uint64_t query_own_peak_bytes(const struct query_answer *a, uint32_t process) {
        const struct query_totals *t = &a->processes[process];
        uint64_t own = MIN(t->peak_bytes, t->begin_bytes + t->alloc_bytes);

        return a->held_bytes && a->held_bytes[process] > 0
                       ? MAX(own, (uint64_t)a->held_bytes[process])
                       : own;
}

int query_ask(struct query *q, const struct query_scope *scope, struct query_answer **ret,
              struct err *reterr);
struct query_answer *query_answer_free(struct query_answer *a);
DEFINE_CLEANUP(struct query_answer, query_answer_free)
void query_figures_add(struct query_figures *to, const struct query_figures *f);
/* Takes their part of the answer's excess from what was live at the peak. */
void query_figures_lower_peak(struct query_figures *f, const struct query_answer *a);
/* Nothing happened and nothing was live. */
bool query_figures_are_idle(const struct query_figures *f);

/* What the figures have of a metric: the number to sort by, and the bytes and blocks to show. */
struct query_figure {
        int64_t value, bytes, blocks;
        bool bytes_are_estimated; /* temporary: sizes are known for all of a site's allocations together */
};
struct query_figure query_figure_of(const struct query_figures *f, enum query_metric m);
/* Negative when x comes first: more of the metric, then more blocks, then more bytes allocated; 0: equal in all three. */
int query_figures_compare(const struct query_figures *x, const struct query_figures *y,
                          enum query_metric m);
void query_sort_sites(struct query_site *sites, size_t n, enum query_metric m); /* largest first */

/* ---- groups ---------------------------------------------------------------------------------- */

enum query_by {
        QUERY_BY_SITE, /* call paths as people tell them apart: what is folded away makes no difference */
        QUERY_BY_FUNCTION, /* name and module; code without a name by its address */
        QUERY_BY_MODULE,
        QUERY_BY_LINE,  /* of source; code without a line by function */
        QUERY_BY_CRATE, /* or outermost namespace; where there is none, the module's file name */
        QUERY_BY_COMPONENT, /* a part of the program by rules: docs/components.md */
        QUERY_BY_THREAD,    /* that allocated; reads events */
        QUERY_BY_SIZE,      /* class of sizes, see query_size_class; reads events */
        QUERY_BY_PROCESS,   /* with QUERY_ALL: an inherited block counts where it was allocated */
        QUERY_N_BY,
};
const char *query_by_name(enum query_by by);
int query_by_parse(const char *name, enum query_by *ret, struct err *reterr);

struct query_group_options {
        enum query_by by;
        enum query_metric metric; /* to sort by, largest first */
        bool by_total;            /* sort by total instead of self */
        bool is_full;             /* frames that the rules of names fold away count too */
};

/* One row. Every block belongs to one group by `self`: the selves of all rows add up to the totals of the scope. `total`
 * counts it in each group that is anywhere on its call path, once however often. Where a group has
 * nothing to do with paths (site, thread, size, process), both are the same. */
struct query_group {
        struct query_frame
                frame;    /* function, line, module; site: the code that asked; else blank */
        bool is_task;     /* function, site: an async one, told by its innermost frame */
        const char *name; /* crate, component; else "" */
        uint32_t stack; /* a call path that belongs to it; 0: none. site: one of its largest part by
                           * what the program called to get memory */
        bool has_parts; /* site: the program called other functions too */
        uint32_t process, thread;      /* QUERY_ALL, TRACE_NO_THREAD: grouped by something else */
        uint64_t min_bytes, max_bytes; /* size */
        uint64_t n_sites;              /* whose self it is */
        struct query_figures self, total;
};

struct query_groups {
        struct query_group_options options;
        struct query_answer
                *answer; /* the scope as answered and its totals; NULL from query_group_answer */
        struct query_group *rows;
        size_t n;
};

int query_group(struct query *q, const struct query_scope *scope,
                const struct query_group_options *o, struct query_groups **ret, struct err *reterr);
/* Groups the sites of an answer that is there already: by call path. */
struct query_groups *query_group_answer(struct query *q, const struct query_answer *a,
                                        const struct query_group_options *o);
struct query_groups *query_groups_free(struct query_groups *g);
DEFINE_CLEANUP(struct query_groups, query_groups_free)

/* The class a size belongs to, as jemalloc and its like cut them: 0; 1 to 8; 9 to 16; steps of 16 up to 128; from there
 * four a doubling. Both ends belong to the class. */
void query_size_class(uint64_t size_bytes, uint64_t *ret_min_bytes, uint64_t *ret_max_bytes);
/* The class of lifetimes it belongs to: up to 4 us, 16 us, 64 us, …; max is not in it, UINT64_MAX: it has no end. */
void query_lifetime_class(uint64_t lifetime_ns, uint64_t *ret_min_ns, uint64_t *ret_max_ns);

/* ---- trees ----------------------------------------------------------------------------------- */

enum query_tree_kind {
        QUERY_TOP_DOWN,  /* from where programs and threads begin to the code that asked */
        QUERY_BOTTOM_UP, /* from the code that asked to where they begin */
        QUERY_CALLERS,   /* of a function: from it outwards */
        QUERY_CALLEES,   /* from it inwards */
};

/* What makes two frames with the same parent one node. Recursion stays as it is. */
enum query_merge {
        QUERY_MERGE_FUNCTION,
        QUERY_MERGE_LINE,
        QUERY_MERGE_ADDRESS,
        QUERY_MERGE_ASKER, /* the code that asked by line, its callers by function */
};

struct query_tree_options {
        enum query_tree_kind kind;
        enum query_merge merge;
        enum query_metric metric; /* children are sorted by it, largest first */
        bool is_full;             /* nothing is folded away */
        bool with_lines; /* by function, top down: below the code that asked its lines that did, where they are known */
        double min_share; /* of the whole, from 0 to 1: smaller nodes become the rest of their parent */
        /* Of call paths that have just min_share so many are told, and those that have more: millions may be alike. The others are
         * the rest, whatever their callers have. 0: no limit */
        uint32_t max_alike;
        uint32_t max_depth; /* nodes below the root, deeper ones become the rest; 0: no limit */
        /* Callers and callees: the name of a function, whole or short; where none is called so, a regular
         * expression (extended, anywhere in the whole name). A path with several such frames counts once, from
         * the outermost of them on. */
        const char *function;
};

struct query_node {
        struct query_frame frame; /* blank: the root, or a rest */
        bool is_task;             /* an async function */
        bool is_line;             /* of the function above it: with_lines */
        bool is_rest; /* stands for n_rest nodes that are not told; always the last child */
        uint32_t n_rest;
        struct query_figures self;  /* paths that end here */
        struct query_figures total; /* self and all children */
        uint32_t stack;             /* of the sites that end here one with most; 0: none */
        uint32_t n_sites;           /* at and below it */
        struct query_node *children;
        size_t n_children;
};

struct query_tree {
        struct query_tree_options options;
        struct query_answer
                *answer; /* the scope as answered and its totals; NULL from query_tree_answer */
        struct query_node *root;  /* total: all of the scope, or all paths with the function */
        struct query_node *nodes; /* all of them, the root first, parents before children */
        size_t n_nodes;
        size_t n_functions; /* different ones that `function` means */
};

/* -ENOENT: no call path has such a function. */
int query_tree(struct query *q, const struct query_scope *scope, const struct query_tree_options *o,
               struct query_tree **ret, struct err *reterr);
/* Puts the sites of an answer that is there already together, from their outer or their inner end on. */
struct query_tree *query_tree_answer(struct query *q, const struct query_answer *a,
                                     const struct query_tree_options *o);
struct query_tree *query_tree_free(struct query_tree *t);
DEFINE_CLEANUP(struct query_tree, query_tree_free)

/* ---- lines of source -------------------------------------------------------------------------- */

/* Which frames are meant. Both tables have one entry for each symbol of the view. */
struct query_lines_options {
        const uint32_t *line_of; /* the line it belongs to, below n_lines; or QUERY_NO_LINE */
        const bool *is_subject;  /* of what is asked about as a whole */
        size_t n_lines;
        enum query_metric metric; /* to sort calls by */
};
enum { QUERY_NO_LINE = UINT32_MAX };

/* What a line called on the way to the code that asked: the next frame people are shown. */
struct query_call {
        uint32_t line;
        struct query_frame frame;
        bool is_task;
        struct query_figures total;
};

struct query_lines {
        struct query_figures *self; /* n_lines: asked for by the line itself */
        struct query_figures
                *total; /* n_lines: with the line anywhere on the call path, each block once */
        struct query_figures subject_self, subject_total;
        struct query_call *calls; /* by line, largest first */
        size_t n_calls;
        size_t n_lines;
};

/* All frames count in totals, those too that the rules of names fold away. */
struct query_lines *query_lines_of(struct query *q, const struct query_answer *a,
                                   const struct query_lines_options *o);
struct query_lines *query_lines_free(struct query_lines *l); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct query_lines, query_lines_free)

/* ---- groups over time ------------------------------------------------------------------------ */

/* Live bytes and blocks of the largest groups, and of all others together, at the end of each of n_columns stretches of equal
 * length: in every column the rows add up to what was live in the scope at that moment. */
struct query_history {
        struct query_groups *groups; /* all of them, sorted */
        bool shares_groups;          /* they are another history's */
        size_t n_groups, n_columns;  /* the history is told of the first so many rows */
        /* n_columns: when the values of a column are true, before the events of that moment. The column's end, or,
         * where its slice's events were not read, the nearest end of a slice, or (max_events 0) a checkpoint
         * before it, by at most a third of a column */
        uint64_t *at_ns;
        /* [group * n_columns + column]; group n_groups is the rest */
        int64_t *live_bytes, *live_blocks;
        int64_t *n_allocs, *n_frees; /* from the window's begin on */
};

/* Events of slices that a column's end cuts are read while they are no more than max_events, which does not hold
 * where history cannot tell (grouped by thread or size, or filtered by block). */
int query_history(struct query *q, const struct query_scope *scope,
                  const struct query_group_options *o, size_t n_groups, size_t n_columns,
                  uint64_t max_events, struct query_history **ret, struct err *reterr);
/* The same groups in columns of equal work, by allocations, instead of equal length: many where much is done, and a pause is in
 * one. `of` must live as long. */
int query_history_by_work(struct query *q, const struct query_history *of, uint64_t max_events,
                          struct query_history **ret, struct err *reterr);
struct query_history *query_history_free(struct query_history *h);
DEFINE_CLEANUP(struct query_history, query_history_free)

/* ---- histograms ------------------------------------------------------------------------------ */

enum query_histogram_kind {
        QUERY_SIZES,     /* of the blocks allocated in the window, in classes of query_size_class */
        QUERY_LIFETIMES, /* of the blocks released in the window: up to 4 us, 16 us, 64 us, … */
};

struct query_bucket {
        uint64_t min,
                max; /* bytes, both in it; or nanoseconds, max not in it (UINT64_MAX: no end) */
        uint64_t n_blocks, bytes;
};

struct query_histogram {
        enum query_histogram_kind kind;
        struct query_scope scope;     /* as answered */
        struct query_bucket *buckets; /* smallest first; of sizes only those that occur */
        size_t n;
        uint64_t n_blocks, bytes; /* of all buckets */
        bool has_bytes;           /* false: bytes are 0, history does not know them */
        bool is_exact;
};

/* Sizes are known from events only. Lifetimes come from history where bytes are not asked for, no slice is cut and
 * no condition is on single blocks; the recorder's clock is finer than that of events, so a lifetime within a
 * microsecond of a border may stand in the bucket beside. */
int query_histogram(struct query *q, const struct query_scope *scope,
                    enum query_histogram_kind kind, bool with_bytes, struct query_histogram **ret,
                    struct err *reterr);
struct query_histogram *query_histogram_free(struct query_histogram *h);
DEFINE_CLEANUP(struct query_histogram, query_histogram_free)

/* ---- moves ----------------------------------------------------------------------------------- */

/* What became of the blocks of a call path beside their release: docs/trace-format.md, "Moves", has the rules. */
struct query_move {
        uint32_t stack;
        uint64_t n_foreign_frees,
                foreign_bytes; /* released by another thread than allocated them */
        /* replaced by a larger block: bytes of the old ones (what had to be copied), of the new ones; of the old
         * ones, those that realloc left where they were (nothing was copied). grown / copied is the mean factor */
        uint64_t n_grown, copied_bytes, grown_bytes, in_place_bytes;
        uint64_t n_shrunk; /* exchanged for a smaller one: near n_grown, then it is no growth */
};

struct query_moves {
        struct query_scope scope; /* as answered */
        bool is_moved;            /* its edges, as in struct query_answer */
        /* false: not known, which is not the same as none. An older silt recorded it, or the filter has conditions on
         * single blocks */
        bool is_known;
        bool is_exact;           /* false: parts that were needed are missing, or too far away */
        struct query_move *rows; /* only those with something; sorted by stack */
        size_t n;
};

/* From history. Slices that an edge of the window cuts: from events, at most four million of them beside the slice's own; their
 * in_place_bytes are the slice's share. */
int query_moves(struct query *q, const struct query_scope *scope, struct query_moves **ret,
                struct err *reterr);
struct query_moves *query_moves_free(struct query_moves *m); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct query_moves, query_moves_free)

/* ---- over time ------------------------------------------------------------------------------- */

struct query_column {
        uint64_t begin_ns, end_ns;
        uint64_t live_bytes;     /* highest in the column */
        uint64_t low_live_bytes; /* lowest known */
        uint64_t rss_bytes;      /* highest sample, or the last one before; 0 unknown */
        bool has_rss;
};

/* Fills n_columns columns of equal width over the window. Slices longer than a column are
 * refined by their events while no more than max_events are read for it, else drawn from begin,
 * peak and end. */
int query_timeline(struct query *q, const struct query_scope *scope, size_t n_columns,
                   uint64_t max_events, struct query_column *ret_columns, struct err *reterr);

/* ---- threads, blocks --------------------------------------------------------------- */

struct query_thread {
        uint32_t thread; /* index into the view's threads */
        uint64_t n_allocs, alloc_bytes, n_frees, n_temporary,
                n_foreign_frees; /* blocks other threads allocated */
};

/* The threads of the scope; their figures only when the events to read are no more than
 * max_events. */
int query_threads(struct query *q, const struct query_scope *scope, uint64_t max_events,
                  struct query_thread **ret, size_t *ret_n, bool *ret_has_figures,
                  struct err *reterr);

/* A release that gave another size than its block has (C++'s sized delete). */
struct query_mismatch {
        uint64_t time_ns, size_bytes, given_bytes; /* that was asked for; that was given */
        uint32_t stack, free_stack;                /* of the block; of its release, 0 unknown */
};
/* The first of them whose events are there, cap at most; how many. Reads only slices that have some. */
size_t query_mismatches(struct query *q, const struct query_scope *scope,
                        struct query_mismatch *ret, size_t cap);

struct query_block {
        uint64_t time_ns, size_bytes, seq, address;
        uint32_t n_blocks; /* that it stands for: 1, unless the recording is of samples */
        uint64_t age_ns;   /* to its release, or to the end of the recording (or of its process) */
        uint32_t thread, stack;
        bool is_live; /* not released */
};
/* Calls fn for each block allocated in the scope, in time order, until it returns false; none from before the view's
 * detail_from_ns. */
typedef bool (*query_block_fn)(void *ctx, const struct query_block *b);
int query_blocks(struct query *q, const struct query_scope *scope, query_block_fn fn, void *ctx,
                 struct err *reterr);
/* Those that a process, not QUERY_ALL, has not allocated in the window: they were alive when it began, or inherited at the fork
 * in it. In no particular order, without addresses; age_ns is 0. *ret_is_exact false: some are missing. */
int query_held_blocks(struct query *q, const struct query_scope *scope, query_block_fn fn,
                      void *ctx, bool *ret_is_exact, struct err *reterr);

#include "query/pages.h" /* a part of this one */
#include "query/query_frame.h"
