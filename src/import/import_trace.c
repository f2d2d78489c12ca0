/* SPDX-License-Identifier: MIT */
#include "import/import_trace.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "base/vec.h"
#include "import/import_hash.h"
#include "import/import_totals.h"
#include "import/kept_files.h"
#include "ledger/trace_maker.h"
#include "symbol/symbol.h"
#include "trace/limit.h"
#include "trace/writer.h"

enum { IMPORT_PATH_BYTES = 64, IMPORT_MAX_ARGS = 4096, IMPORT_MANY_EVENTS = 1 << 20 };
#define NUMBERED_NS UINT64_C(1000000000)
static const uint64_t max_kept_bytes = 4ull << 30; /* of copies of files */

struct module_entry {
        const char *path;
        uint32_t id;
};

struct import_trace {
        int fd;
        struct trace_writer *writer;
        struct trace_maker *maker;
        struct arena *arena;
        uint32_t process, thread;
        enum trace_unit unit;
        bool is_totals, has_no_time, has_no_traffic, needs_look_up, stays_unnamed, names_made_code;
        struct map modules; /* hash of path → index + 1 */
        VEC(struct module_entry) module_list;
        struct map places; /* hash of module, address and names → location + 1 */
        struct map taken;  /* hash of module and address → hash of the names it has */
        uint64_t n_made;   /* addresses that were made up */
        VEC(struct trace_symbol) symbols;
        struct map texts; /* hash → string of the arena */
        struct import_totals totals;
        VEC(bool) is_counted; /* by stack: in n_stacks */
        uint64_t started_unix_ns, last_ns, end_ns, clock_step_ns, n_stacks, n_events;
        size_t n_moments, n_files;
        bool has_end;
        enum trace_ended ended;
        int32_t status;
        struct str limits;
        const char *sample_type, *path; /* borrowed */
        struct kept_files *kept;
};

struct import_trace *import_trace_new(int fd, size_t n_files) {
        struct import_trace *t = calloc(1, sizeof(*t));

        if (!t)
                abort();
        t->fd = fd;
        t->path = "";
        t->n_files = n_files;
        t->arena = arena_new();
        return t;
}

struct import_trace *import_trace_free(struct import_trace *t) {
        if (!t)
                return NULL;
        trace_maker_free(t->maker);
        trace_writer_free(t->writer);
        map_done(&t->modules);
        map_done(&t->places);
        map_done(&t->taken);
        map_done(&t->texts);
        import_totals_done(&t->totals);
        vec_free(&t->module_list);
        vec_free(&t->symbols);
        vec_free(&t->is_counted);
        str_done(&t->limits);
        kept_files_free(t->kept);
        arena_free(t->arena);
        free(t);
        return NULL;
}

bool import_trace_lacks_traffic(const struct import_trace *t) {
        return t->has_no_traffic;
}

bool import_trace_is_begun(const struct import_trace *t) {
        return t->maker != NULL;
}

void import_trace_leave_unnamed(struct import_trace *t) {
        t->stays_unnamed = true;
}

bool import_trace_asks_files(const struct import_trace *t) {
        return !t->stays_unnamed;
}

uint64_t import_trace_started_unix_ns(const struct import_trace *t) {
        return t->started_unix_ns;
}

uint64_t import_trace_n_events(const struct import_trace *t) {
        return t->n_events;
}

uint64_t import_trace_n_stacks(const struct import_trace *t) {
        return t->n_stacks;
}

void import_trace_begin_file(struct import_trace *t, const char *path) {
        t->path = path;
}

void import_trace_choose_type(struct import_trace *t, const char *name) {
        t->sample_type = name;
}

const char *import_trace_sample_type(const struct import_trace *t) {
        return t->sample_type ? t->sample_type : "";
}

size_t import_trace_n_files(const struct import_trace *t) {
        return t->n_files;
}

uint64_t import_trace_last_ns(const struct import_trace *t) {
        return t->last_ns;
}

size_t import_trace_n_moments(const struct import_trace *t) {
        return t->n_moments;
}

/* ---- begin ------------------------------------------------------------------------------------- */

/* Words between blanks; what was quoted once is not known any more. */
static uint32_t split_command(struct import_trace *t, const char *command, const char ***ret) {
        VEC(const char *) args = {0};
        char *rest = arena_strdup(t->arena, command ? command : ""), *word;
        uint32_t n;

        while ((word = strtok_r(rest, " \t\n", &rest)) && args.n < IMPORT_MAX_ARGS)
                vec_push(&args, word);
        *ret = arena_memdup(t->arena, args.items ? (void *)args.items : (void *)"",
                            args.n ? args.n * sizeof(args.items[0]) : 1);
        n = (uint32_t)args.n;
        vec_free(&args);
        return n;
}

static uint32_t own_machine(void) {
#if defined(__aarch64__)
        return EM_AARCH64;
#else
        return EM_X86_64;
#endif
}

static uint32_t flags_of(const struct import_begin *b) {
        if (!b->is_totals)
                return b->has_no_time ? TRACE_LACKS_TIME : 0;
        return TRACE_IS_TOTALS | (b->has_no_time ? TRACE_LACKS_TIME : 0) |
               (b->has_no_blocks ? TRACE_LACKS_BLOCKS : 0) |
               (b->counts_samples ? TRACE_COUNTS_SAMPLES : 0) |
               (b->has_no_traffic ? TRACE_LACKS_TRAFFIC : 0) |
               (b->has_no_peak || b->has_no_live ? TRACE_LACKS_PEAK : 0) |
               (b->has_no_live ? TRACE_LACKS_LIVE : 0);
}

int import_trace_begin(struct import_trace *t, const struct import_begin *b, struct err *reterr) {
        struct trace_meta meta = {.pid = b->pid,
                                  .machine = b->machine ? b->machine : own_machine(),
                                  .page_bytes = b->page_bytes ? b->page_bytes : 4096,
                                  .started_unix_ns = b->started_unix_ns,
                                  .sample_bytes = b->sample_bytes > 1 ? b->sample_bytes : 0,
                                  .flags = flags_of(b),
                                  .unit = b->unit,
                                  .silt_version = SILT_VERSION,
                                  .host = "",
                                  .cwd = ""};
        struct trace_process process = {.pid = meta.pid, .parent = TRACE_NO_PROCESS, .image = 1};
        struct trace_thread thread = {.tid = b->has_no_threads ? 0 : MAX(meta.pid, 1u)};
        const char **args;
        int fd, r;

        if (t->maker)
                return b->unit == t->unit
                               ? 0
                               : err_set(reterr, -EINVAL,
                                         "the files count different things: import them one by one");
        t->unit = b->unit;
        meta.n_args = process.n_args = split_command(t, b->command, &args);
        meta.args = process.args = args;
        process.exe = meta.n_args ? args[0] : b->program ? b->program : "";
        fd = dup(t->fd);
        if (fd < 0)
                return err_set_errno(reterr, -errno, "cannot make a trace");
        r = trace_writer_open(fd, &meta, &t->writer, reterr);
        if (r < 0) {
                close(fd);
                return r;
        }
        trace_writer_hurry(t->writer);
        r = trace_maker_new(t->writer, meta.flags, &t->maker);
        if (r >= 0)
                r = trace_maker_begin_process(t->maker, &process, false, &t->process);
        thread.process = t->process;
        if (r >= 0)
                r = trace_maker_add_thread(t->maker, &thread, NULL, &t->thread);
        t->is_totals = b->is_totals;
        t->has_no_time = b->has_no_time;
        t->has_no_traffic = b->has_no_traffic;
        t->names_made_code = b->names_made_code;
        t->started_unix_ns = b->started_unix_ns;
        return r < 0 ? err_set_errno(reterr, r, "cannot make a trace") : 0;
}

/* ---- call paths -------------------------------------------------------------------------------- */

/* Many places share few names. A text whose hash another has is kept for itself. */
static const char *keep_text(struct import_trace *t, const char *text) {
        uint64_t *kept;
        bool is_new;

        if (!text || !text[0])
                return "";
        kept = map_put(&t->texts, hash_text(1, text), 0, &is_new);
        if (is_new)
                *kept = (uint64_t)(uintptr_t)arena_strdup(t->arena, text);
        if (strcmp((const char *)(uintptr_t)*kept, text) == 0)
                return (const char *)(uintptr_t)*kept;
        return arena_strdup(t->arena, text);
}

int import_trace_keep_file(struct import_trace *t, const char *path, uint64_t n_bytes) {
        if (t->stays_unnamed)
                return -EPERM;
        if (!t->kept)
                t->kept = kept_files_new(max_kept_bytes);
        return kept_files_create(t->kept, path, n_bytes);
}

const char *import_trace_kept_root(const struct import_trace *t) {
        return kept_files_root(t->kept);
}

static uint32_t module_of(struct import_trace *t, const struct import_place *p) {
        struct trace_module module = {.path = p->module};
        uint64_t hash = hash_bytes(hash_text(2, p->module), p->build_id ? p->build_id : (void *)"",
                                   p->build_id ? p->n_build_id : 0);
        uint64_t *idx;
        bool is_new;

        if (!p->module || !p->module[0])
                return UINT32_MAX;
        idx = map_put(&t->modules, hash, t->module_list.n, &is_new);
        if (!is_new)
                return t->module_list.items[*idx].id;
        module.build_id_len =
                p->build_id ? (uint32_t)MIN(p->n_build_id, sizeof(module.build_id)) : 0;
        if (module.build_id_len)
                memcpy(module.build_id, p->build_id, module.build_id_len);
        vec_push(&t->module_list,
                 (struct module_entry){.path = keep_text(t, p->module),
                                       .id = trace_maker_add_module(t->maker, &module)});
        return t->module_list.items[t->module_list.n - 1].id;
}

static void keep_names(struct import_trace *t, const struct import_place *p, uint32_t location) {
        for (size_t i = 0; i < p->n_functions; i++) {
                char *plain = symbol_demangle(p->functions[i].name ? p->functions[i].name : "");

                vec_push(&t->symbols,
                         (struct trace_symbol){.location = location,
                                               .function = keep_text(t, plain),
                                               .file = keep_text(t, p->functions[i].file),
                                               .line = p->functions[i].line,
                                               .inlined = i + 1 < p->n_functions});
                free(plain);
        }
}

int import_trace_place(struct import_trace *t, const struct import_place *p, uint32_t *ret_location,
                       struct err *reterr) {
        const struct import_function unknown = {.name = "(unknown)"};
        uint64_t names = 3, hash, *known, *taken;
        struct trace_location l = {.offset = p->address};
        bool is_new, is_free = true;
        int r;

        for (size_t i = 0; i < p->n_functions; i++) {
                names = hash_text(names, p->functions[i].name);
                names = hash_text(names, p->functions[i].file);
                names = hash_bytes(names, &p->functions[i].line, sizeof(uint32_t));
        }
        l.module = module_of(t, p);
        hash = hash_bytes(names, &p->address, sizeof(p->address));
        hash = hash_bytes(hash, &l.module, sizeof(l.module));
        known = map_put(&t->places, hash, 0, &is_new);
        if (!is_new) {
                *ret_location = (uint32_t)*known;
                return 0;
        }
        if (p->address) {
                taken = map_put(&t->taken, hash_bytes(hash_bytes(4, &p->address, 8), &l.module, 4),
                                names, &is_free);
                is_free |= *taken == names;
        }
        /* without an address, or with that of another function: one that no code has */
        if (!p->address || !is_free)
                l.offset = (1ull << 62) + t->n_made++;
        r = trace_maker_add_location(t->maker, &l, ret_location);
        if (r < 0)
                return err_set_errno(reterr, r, "too many places in code");
        known = map_put(&t->places, hash, 0, &is_new);
        *known = *ret_location;
        if (p->n_functions)
                keep_names(t, p, *ret_location);
        else if (!p->address) /* nothing is known of it: the address that was made up is not told */
                keep_names(t, &(struct import_place){.functions = &unknown, .n_functions = 1},
                           *ret_location);
        else
                t->needs_look_up |= l.module != UINT32_MAX || t->names_made_code;
        return 0;
}

int import_trace_stack(struct import_trace *t, uint32_t parent, uint32_t location,
                       uint32_t *ret_stack) {
        return trace_maker_add_stack(t->maker, parent, location, ret_stack);
}

/* A call path is one that has something: the beginning of others is none. */
static inline void count_path(struct import_trace *t, uint32_t stack) {
        while (stack >= t->is_counted.n)
                vec_push(&t->is_counted, false);
        t->n_stacks += !t->is_counted.items[stack];
        t->is_counted.items[stack] = true;
}

int import_trace_call(struct import_trace *t, const struct import_place *p, uint32_t *stack,
                      struct err *reterr) {
        uint32_t location;
        int r = import_trace_place(t, p, &location, reterr);

        if (r < 0)
                return r;
        r = import_trace_stack(t, *stack, location, stack);
        return r < 0 ? err_set_errno(reterr, r, "too many call paths") : 0;
}

/* ---- events ------------------------------------------------------------------------------------ */

/* Events without times are numbered: the n-th is at n seconds. */
static uint64_t at(struct import_trace *t, uint64_t time_ns) {
        if (unlikely(++t->n_events == IMPORT_MANY_EVENTS)) /* worth a thread */
                trace_writer_set_worker(t->writer, true);
        if (t->has_no_time)
                time_ns = t->n_events * NUMBERED_NS;
        t->last_ns = MAX(t->last_ns, time_ns);
        return t->last_ns;
}

void import_trace_count_tick(struct import_trace *t, uint64_t time_ns, uint32_t stack) {
        count_path(t, stack);
        at(t, time_ns);
}

struct trace_maker *import_trace_maker(struct import_trace *t) {
        return t->maker;
}

int import_trace_add_thread(struct import_trace *t, uint32_t tid, const char *name,
                            uint32_t *ret_thread) {
        const struct trace_thread thread = {t->process, tid, t->last_ns};

        return trace_maker_add_thread(t->maker, &thread, name, ret_thread);
}

void import_trace_expect(struct import_trace *t, uint64_t address, bool is_allocation) {
        trace_maker_expect(t->maker, 0, address, is_allocation);
}

int import_trace_allocate(struct import_trace *t, uint64_t time_ns, uint32_t thread,
                          uint64_t address, uint64_t size_bytes, uint32_t stack) {
        const struct trace_maker_block block = {address, size_bytes, stack, false};

        count_path(t, stack);
        return trace_maker_allocate(t->maker, at(t, time_ns), thread, &block);
}

int import_trace_release(struct import_trace *t, uint64_t time_ns, uint32_t thread,
                         uint64_t address) {
        return trace_maker_release(t->maker, at(t, time_ns), thread, address, 0);
}

int import_trace_reallocate(struct import_trace *t, uint64_t time_ns, uint32_t thread,
                            uint64_t old_address, uint64_t address, uint64_t size_bytes,
                            uint32_t stack) {
        const struct trace_maker_block block = {address, size_bytes, stack, false};

        count_path(t, stack);
        return trace_maker_reallocate(t->maker, at(t, time_ns), thread, old_address, &block);
}

int import_trace_rss(struct import_trace *t, uint64_t time_ns, uint64_t rss_bytes) {
        const struct trace_sample s = {.process = t->process,
                                       .time_ns = MAX(t->last_ns, time_ns),
                                       .anon_bytes = rss_bytes};

        return t->is_totals ? 0 : trace_maker_sample(t->maker, &s);
}

/* ---- totals ------------------------------------------------------------------------------------ */

int import_trace_total(struct import_trace *t, uint32_t stack, const struct import_total *total) {
        return import_totals_add(&t->totals, stack, total);
}

int import_trace_live(struct import_trace *t, uint32_t stack, uint64_t n_blocks,
                      uint64_t live_bytes) {
        return import_totals_add_live(&t->totals, stack, n_blocks, live_bytes);
}

void import_trace_estimates(struct import_trace *t, uint64_t sample_bytes) {
        struct unit_text size;
        char text[100];

        if (sample_bytes <= 1)
                return;
        t->totals.sample_bytes = MAX(t->totals.sample_bytes, sample_bytes);
        snprintf(text, sizeof(text), "Figures are estimates from samples, one in %s",
                 unit_bytes(&size, sample_bytes));
        import_trace_limit(t, text);
}

static int refuse_totals(struct import_trace *t, struct err *reterr) {
        if (t->n_files > 1 && t->n_moments > 0)
                return err_set(
                        reterr, -EINVAL,
                        "'%s': a call path allocated or freed less than in the file before: give the files in the order they were written, or import them one by one",
                        t->path);
        return err_set(reterr, -EINVAL, "'%s': the sums of a call path do not fit together",
                       t->path);
}

int import_trace_moment(struct import_trace *t, uint64_t time_ns, struct err *reterr) {
        struct import_totals *totals = &t->totals;

        if (t->has_no_time)
                time_ns = (t->n_moments + 1) * 1000000000ull;
        t->last_ns = MAX(t->last_ns, time_ns);
        if (!import_totals_make(totals, t->process))
                return refuse_totals(t, reterr);
        for (size_t i = 0; i < totals->put.n; i++)
                if (totals->put.items[i].n_allocs || totals->put.items[i].alloc_bytes)
                        count_path(t, totals->put.items[i].stack);
        if (trace_maker_put_totals(t->maker, t->last_ns, totals->put.items, totals->put.n) < 0)
                return refuse_totals(t, reterr);
        t->n_moments++;
        return 0;
}

/* ---- words ------------------------------------------------------------------------------------- */

void import_trace_note(struct import_trace *t, uint64_t time_ns, const char *text) {
        trace_maker_note(t->maker, MAX(t->last_ns, time_ns), text);
}

void import_trace_limit(struct import_trace *t, const char *sentence) {
        if (!strstr(str_text(&t->limits), sentence)) /* the next file of several says the same */
                str_addf(&t->limits, ". %s", sentence);
}

void import_trace_clock_step(struct import_trace *t, uint64_t step_ns) {
        t->clock_step_ns = MAX(t->clock_step_ns, step_ns);
}

void import_trace_tell_larger(struct import_trace *t, uint64_t n_paths) {
        struct unit_text n;
        char text[200];

        if (!n_paths)
                return;
        snprintf(text, sizeof(text),
                 "%s call path%s more in use than %s allocated: allocations count as the larger",
                 unit_count(&n, n_paths), n_paths == 1 ? " has" : "s have",
                 n_paths == 1 ? "it" : "they");
        import_trace_limit(t, text);
}

/* Of estimates: import_totals.h. */
static void tell_misfits(struct import_trace *t) {
        struct unit_text n;
        char text[200];

        if (t->totals.n_paired) {
                snprintf(text, sizeof(text),
                         "Estimates have bytes without a block %s time%s: one is counted for them",
                         unit_count(&n, t->totals.n_paired), unit_s(t->totals.n_paired));
                import_trace_limit(t, text);
        }
        if (!t->totals.n_raised)
                return;
        snprintf(
                text, sizeof(text),
                "Estimates of what call paths allocated or freed fell %s time%s from one moment to the next: the larger counts",
                unit_count(&n, t->totals.n_raised), unit_s(t->totals.n_raised));
        import_trace_limit(t, text);
}

void import_trace_tell_limits(struct import_trace *t, const char *first) {
        struct str text = {0};
        struct trace_limit l = {.kind = LIMIT_IMPORTED, .count = t->clock_step_ns};
        char note[1024];

        tell_misfits(t);
        str_addf(&text, "%s%s", first, str_text(&t->limits));
        l.text = str_text(&text);
        trace_limit_write(&l, note, sizeof(note));
        trace_maker_note(t->maker, t->last_ns, note);
        str_done(&text);
}

void import_trace_end(struct import_trace *t, uint64_t end_ns, enum trace_ended ended,
                      int32_t status) {
        t->has_end = true;
        t->end_ns = end_ns;
        t->ended = ended;
        t->status = status;
}

/* ---- finish ------------------------------------------------------------------------------------ */

/* What the source said, and for code that it does not name what the files of this machine say. */
static int put_names(struct import_trace *t, const char *path, struct err *reterr) {
        struct trace_names names = {.symbols = t->symbols.items, .n_symbols = t->symbols.n};
        struct symbol_options options = SYMBOL_OPTIONS_DEFAULT;
        struct symbol_table *found = NULL;
        int r;

        options.search.sysroot = kept_files_root(t->kept);
        options.no_cache = options.search.sysroot != NULL; /* that folder is never seen again */
        if (t->needs_look_up && !t->stays_unnamed &&
            symbol_lookup(path, &options, &found, NULL) >= 0) {
                struct map said = {0};

                for (size_t i = 0; i < t->symbols.n; i++)
                        map_put(&said, t->symbols.items[i].location, 1, NULL);
                for (size_t i = 0; i < found->n_symbols; i++)
                        if (!map_get(&said, found->symbols[i].location, &(uint64_t){0}))
                                vec_push(&t->symbols, found->symbols[i]);
                map_done(&said);
                names.modules = found->modules;
                names.n_modules = found->n_modules;
        }
        names.symbols = t->symbols.items;
        names.n_symbols = t->symbols.n;
        r = names.n_symbols || names.n_modules
                    ? trace_put_names_to(t->fd, "the trace", &names, reterr)
                    : 0;
        symbol_table_free(found);
        return r;
}

int import_trace_finish(struct import_trace *t, struct err *reterr) {
        const struct trace_process_end end = {.process = t->process,
                                              .ended = t->has_end ? t->ended : TRACE_ENDED_UNKNOWN,
                                              .status = t->has_end ? t->status : -1,
                                              .end_ns = MAX(t->last_ns, t->end_ns),
                                              .n_threads = 1};
        char path[IMPORT_PATH_BYTES];
        int r;

        trace_maker_end_process(t->maker, &end);
        trace_maker_finish(t->maker, end.end_ns);
        r = trace_writer_finish(t->writer, reterr);
        if (r < 0)
                return r;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", t->fd);
        return put_names(t, path, reterr);
}
