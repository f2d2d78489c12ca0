/* SPDX-License-Identifier: MIT */
#include "finding/time_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/kernel_id.h"
#include "base/map.h"
#include "base/vec.h"
#include "finding/time_hot.h"
#include "finding/wait_call.h"
#include "query/spent_time.h"

enum { PARTS_MAX_DEPTH = 512 /* innermost frames that are looked at: the kernel alone has 40 */ };

/* ---- names ----------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *with) {
        return strncmp(text, with, strlen(with)) == 0;
}

static bool is_in(const char *text, const char *const *exact, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(text, exact[i]) == 0)
                        return true;
        return false;
}
#define IS_IN(text, list) is_in(text, list, ARRAY_SIZE(list))

static bool starts_in(const char *text, const char *const *with, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (starts_with(text, with[i]))
                        return true;
        return false;
}
#define STARTS_IN(text, list) starts_in(text, list, ARRAY_SIZE(list))

/* A library's second names for what it exports say the same. */
static const char *without_alias(const char *name) {
        static const char *const before[] = {"__GI_", "__libc_", "___", "__"};

        for (size_t i = 0; i < ARRAY_SIZE(before); i++)
                if (starts_with(name, before[i]))
                        name += strlen(before[i]);
        return name;
}

/* Functions that do the work, not containers that ask for it. */
static bool is_allocator(const char *name) {
        static const char *const exact[] = {
                "malloc",
                "calloc",
                "realloc",
                "free",
                "cfree",
                "reallocarray",
                "memalign",
                "aligned_alloc",
                "posix_memalign",
                "valloc",
                "pvalloc",
                "malloc_consolidate",
                "malloc_trim",
                "unlink_chunk",
                "sysmalloc",
                "sysmalloc_mmap",
                "systrim",
                "heap_trim",
                "arena_get2",
                "operator new",
                "operator new[]",
                "operator delete",
                "operator delete[]",
                "rust_alloc",
                "rust_dealloc",
                "rust_realloc",
                "rust_alloc_zeroed",
                "rdl_alloc",
                "rdl_dealloc",
                "rdl_realloc",
                "rdl_alloc_zeroed",
                "grow_heap",
                "malloc_printerr",
                "free_default",
                "PyObject_Malloc",
                "PyObject_Free",
                "_PyObject_Malloc",
                "_PyObject_Free",
                "PyObject_Realloc",
                "runtime.mallocgc",
        };
        /* linked into the program; a program's own mi_solve is none of mimalloc's */
        static const char *const begin[] = {
                "_int_malloc", "_int_free",     "_int_realloc", "_int_memalign", "tcache_get",
                "tcache_put",  "tcache_init",   "tcache_key",   "tcache_thread", "_rjem_",
                "mi_malloc",   "mi_zalloc",     "mi_calloc",    "mi_realloc",    "mi_recalloc",
                "mi_free",     "mi_new",        "mi_heap_",     "mi_theap_",     "mi_page_",
                "mi_segment",  "mi_arena",      "mi_usable_",   "mi_thread_",    "mi_collect",
                "_mi_malloc",  "_mi_free",      "_mi_heap_",    "_mi_theap_",    "_mi_page_",
                "_mi_segment", "_mi_arena",     "_mi_os_",      "_mi_prim_",     "_mi_mem",
                "tc_malloc",   "tc_calloc",     "tc_realloc",   "tc_free",       "tc_cfree",
                "tc_new",      "tc_delete",     "tc_memalign",  "tc_posix_",     "tc_valloc",
                "tcmalloc::",  "tcmalloc_",     "pymalloc_",    "rpmalloc",      "rpfree",
                "snmalloc::",  "scalable_mall", "scalable_all", "scalable_free", "scalable_real",
                "scalable_ca", "scalable_alig",
        };
        static const char *const jemalloc[] = {"mall",        "calloc",   "realloc",  "rallocx",
                                               "xallocx",     "free",     "sdalloc",  "dalloc",
                                               "nalloc",      "memalign", "aligned_", "posix_",
                                               "arena_",      "tcache_",  "tsd_",     "extent_",
                                               "edata_",      "eset_",    "emap_",    "large_",
                                               "huge_",       "base_",    "bin_",     "sec_",
                                               "background_", "chunk_",   "rtree_",   "pages_",
                                               "pa_",         "pac_",     "hpa_",     "san_",
                                               "decay_",      "prof_",    "sallocx",  "malloc_"};

        if (IS_IN(without_alias(name), exact) || STARTS_IN(name, begin))
                return true;
        return starts_with(name, "je_") && STARTS_IN(name + 3, jemalloc);
}

/* "lock", but not of a block or a clock. */
static bool has_lock_word(const char *name) {
        for (const char *at = name; (at = strpbrk(at, "lL")); at++)
                if (strncmp(at + 1, "ock", 3) == 0 && (at == name || !strchr("bBcC", at[-1])))
                        return true;
        return false;
}

static bool is_lock(const char *name) {
        static const char *const exact[] = {
                "lll_lock_wait",
                "lll_lock_wait_private",
                "lll_mutex_lock",
                "pthread_mutex_lock",
                "pthread_mutex_lock_full",
                "pthread_mutex_timedlock",
                "pthread_mutex_clocklock",
                "pthread_mutex_cond_lock",
                "pthread_rwlock_rdlock",
                "pthread_rwlock_wrlock",
                "pthread_spin_lock",
                "mtx_lock",
                "g_mutex_lock",
                "g_mutex_lock_slowpath",
                "g_rw_lock_reader_lock",
                "g_rw_lock_writer_lock",
                "take_gil",
                "uv_mutex_lock",
                "runtime.lock2",
                "pthread_rwlock_rdlock_full64",
                "pthread_rwlock_wrlock_full64",
        };
        static const char *const begin[] = {"std::mutex::",
                                            "std::recursive_mutex::",
                                            "std::timed_mutex::",
                                            "std::shared_mutex::",
                                            "std::__shared_mutex_pthread::",
                                            "parking_lot::",
                                            "parking_lot_core::",
                                            "lock_api::",
                                            "absl::Mutex::",
                                            "sync.(*Mutex).",
                                            "sync.(*RWMutex).",
                                            "std::sync::mutex::",
                                            "std::sync::rwlock::",
                                            "std::sync::reentrant_lock::",
                                            "std::sync::poison::mutex::",
                                            "std::sync::poison::rwlock::",
                                            "std::sync::nonpoison::mutex::",
                                            "std::sync::nonpoison::rwlock::",
                                            "std::sys::sync::mutex::",
                                            "std::sys::sync::rwlock::",
                                            "std::sys::locks::",
                                            "folly::SharedMutex"};

        if (IS_IN(without_alias(name), exact))
                return true;
        return STARTS_IN(name, begin) && has_lock_word(name) && !strstr(name, "unlock") &&
               !strstr(name, "condvar") && !strstr(name, "Condvar");
}

static bool is_fault(const char *name) {
        static const char *const exact[] = {
                "asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault",
                "handle_mm_fault",    "el0_da",         "do_page_fault",
                "do_mem_abort",       "el0_ia",         "do_translation_fault"};

        return IS_IN(name, exact);
}

/* The kernel's names of its entries: "read" of __x64_sys_read; NULL: it is none. */
static const char *call_name(const char *name) {
        static const char *const before[] = {"__x64_sys_", "__arm64_sys_", "__ia32_sys_",
                                             "__se_sys_",  "__do_sys_",    "ksys_"};

        for (size_t i = 0; i < ARRAY_SIZE(before); i++)
                if (starts_with(name, before[i]))
                        return name + strlen(before[i]);
        return NULL;
}

static bool is_call_entry(const char *name) {
        static const char *const exact[] = {"do_syscall_64", "entry_SYSCALL_64_after_hwframe",
                                            "x64_sys_call",  "el0_svc",
                                            "do_el0_svc",    "el0_svc_common",
                                            "invoke_syscall"};

        return call_name(name) || IS_IN(name, exact);
}

/* ---- one call path --------------------------------------------------------------------------- */

static const char *base_of(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

bool time_is_kernel(const struct query_frame *f) {
        return strcmp(f->module, "[kernel]") == 0;
}

bool time_is_runtime(const struct query_frame *f) {
        return starts_with(base_of(f->module), "libsilt.so");
}

static bool is_libc(const struct query_frame *f) {
        const char *base = base_of(f->module);

        return starts_with(base, "libc.so") || starts_with(base, "libc-") ||
               starts_with(base, "libpthread") || starts_with(base, "ld-") ||
               starts_with(base, "libc.musl") || strcmp(base, "[vdso]") == 0;
}

/* All that such a library does is allocating: its own names are many. */
static bool is_allocator_module(const struct query_frame *f) {
        static const char *const libraries[] = {"libjemalloc", "libmimalloc", "libtcmalloc",
                                                "librpmalloc", "libsnmalloc", "libtbbmalloc",
                                                "libhoard"};

        return STARTS_IN(base_of(f->module), libraries);
}

struct path_look {
        struct names *names;
        struct query_frame frames[PARTS_MAX_DEPTH];
        size_t n;
        size_t n_kernel; /* the innermost so many */
};

static bool take_frame(void *ctx, const struct query_frame *f) {
        struct path_look *p = ctx;

        p->frames[p->n++] = *f;
        return p->n < PARTS_MAX_DEPTH;
}

static const char *plain_of(const struct path_look *p, size_t i) {
        const struct query_frame *f = &p->frames[i];

        return f->function[0] && !f->guess ? name_plain(p->names, f->function) : "";
}

/* Of the kernel's frames the innermost that says why it runs. */
static enum time_part_kind kernel_part(const struct path_look *p, const char **ret_call) {
        enum time_part_kind kind = TIME_IN_KERNEL;

        for (size_t i = 0; i < p->n_kernel; i++) {
                const char *name = p->frames[i].function;

                if (kind == TIME_IN_KERNEL && is_fault(name))
                        return TIME_IN_FAULTS;
                if (is_call_entry(name))
                        kind = TIME_IN_CALLS;
                if (call_name(name))
                        *ret_call = call_name(name);
        }
        return kind;
}

/* Who has it polls for all: the others wait for what happens, not for each other. */
static bool is_turn_to_poll(const struct path_look *p, size_t i) {
        return i + 1 < p->n && strcmp(plain_of(p, i + 1), "async_io::reactor::Reactor::lock") == 0;
}

static bool locks(const struct path_look *p, size_t i) {
        return is_lock(plain_of(p, i));
}

static bool allocates(const struct path_look *p, size_t i) {
        return is_allocator_module(&p->frames[i]) || is_allocator(plain_of(p, i));
}

/* The outermost frame of a kind, as long as what it called is of the same library, the C library's, the kernel's or silt's;
 * SIZE_MAX: none. */
static size_t find_outermost(const struct path_look *p,
                             bool (*is)(const struct path_look *p, size_t i)) {
        const char *module = NULL;
        size_t found = SIZE_MAX;

        for (size_t i = p->n_kernel; i < p->n; i++) {
                const struct query_frame *f = &p->frames[i];

                if (is(p, i))
                        found = i;
                else if (!is_libc(f) && !time_is_runtime(f) &&
                         (found != SIZE_MAX || (module && strcmp(module, f->module) != 0)))
                        break;
                if (!is_libc(f) && !time_is_runtime(f))
                        module = f->module;
        }
        return found;
}

/* From there on outwards the first that does something of its own; n: nobody is known, as while a process has no memory, in execve and at its end. */
static size_t find_cause(const struct path_look *p, size_t from) {
        for (size_t i = from; i < p->n; i++) {
                const struct query_frame *f = &p->frames[i];
                struct name_frame n = {f->function, f->file,    f->module, f->offset,
                                       f->line,     f->inlined, f->guess};
                enum name_kind kind = name_frame_kind(p->names, &n);

                if (kind == NAME_START)
                        break;
                if ((kind == NAME_PLAIN || kind == NAME_TASK) && !is_libc(f) &&
                    !time_is_runtime(f) && !is_lock(plain_of(p, i)))
                        return i;
        }
        from = MIN(from, p->n ? p->n - 1 : 0);
        return p->n && time_is_kernel(&p->frames[from]) ? p->n : from;
}

/* What was called: "nanosleep", not what that is made of; "std::sync::mpsc::Receiver::recv", not the system call. */
static const char *called_of(const struct path_look *p) {
        size_t n = p->n - p->n_kernel, i = 0;

        if (n && wait_is_system(p->frames[p->n_kernel].module))
                i = wait_call_find(p->names, p->frames + p->n_kernel, n);
        return i < n ? without_alias(plain_of(p, p->n_kernel + i)) : "";
}

struct path_part {
        enum time_part_kind kind;
        size_t cause; /* its frame; n: there is none */
        const char *through;
};

static struct path_part part_of(const struct path_look *p) {
        struct path_part x = {TIME_IN_PROGRAM, p->n, ""};
        size_t lock, allocator;

        if (!p->n) {
                x.kind = TIME_UNSAMPLED;
                return x;
        }
        if (p->n_kernel == p->n && strcmp(p->frames[0].function, KERNEL_UNSAMPLED_NAME) == 0) {
                x.kind = TIME_IN_HIDDEN;
                return x;
        }
        if (p->n_kernel < p->n && time_is_runtime(&p->frames[p->n_kernel])) {
                x.kind = TIME_IN_SILT;
                x.through = "silt's recording";
                x.cause = find_cause(p, p->n_kernel);
                return x;
        }
        if (p->n_kernel)
                x.kind = kernel_part(p, &x.through);
        if (x.kind == TIME_IN_FAULTS) {
                x.cause = find_cause(p, p->n_kernel);
                return x;
        }
        lock = find_outermost(p, locks);
        if (lock != SIZE_MAX && is_turn_to_poll(p, lock))
                lock = SIZE_MAX;
        allocator = find_outermost(p, allocates);
        if (lock != SIZE_MAX && (allocator == SIZE_MAX || lock <= allocator)) {
                x.kind = TIME_IN_LOCKS;
                x.through = without_alias(plain_of(p, lock));
                x.cause = find_cause(p, lock + 1 < p->n ? lock + 1 : lock);
        } else if (allocator != SIZE_MAX) {
                x.kind = TIME_IN_ALLOCATOR;
                x.through = without_alias(plain_of(p, allocator));
                x.cause = find_cause(p, allocator + 1 < p->n ? allocator + 1 : allocator);
        } else {
                if (!x.through[0] || strcmp(x.through, "futex") == 0)
                        x.through = called_of(p);
                x.cause = find_cause(p, p->n_kernel);
        }
        return x;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct gathering {
        struct query *q;
        struct path_look look;
        VEC(struct time_cause) causes[TIME_N_PARTS];
        struct map by_key[TIME_N_PARTS];
};

static void add_site(struct gathering *g, const struct query_site *site, struct time_parts *to) {
        struct path_look *p = &g->look;
        struct query_frame none = {.function = "", .file = "", .module = ""};
        struct path_part x;
        struct time_cause *c;
        uint64_t *at;
        bool added;

        p->n = p->n_kernel = 0;
        query_each_frame(g->q, site->stack, take_frame, p);
        while (p->n_kernel < p->n && time_is_kernel(&p->frames[p->n_kernel]))
                p->n_kernel++;
        x = part_of(p);
        to->of[x.kind].ns += site->f.alloc_bytes;
        to->of[x.kind].n_samples += site->f.n_allocs;
        if (x.cause < p->n)
                none = p->frames[x.cause];
        at = map_put(&g->by_key[x.kind],
                     x.cause < p->n ? time_frame_key(&none) : time_text_key(1, x.through),
                     g->causes[x.kind].n, &added);
        if (added)
                vec_push(&g->causes[x.kind], (struct time_cause){.frame = none, .through = ""});
        c = &g->causes[x.kind].items[*at];
        c->ns += site->f.alloc_bytes;
        c->n_samples += site->f.n_allocs;
        c->is_mixed |= !added && strcmp(c->through, x.through) != 0;
        if (site->f.alloc_bytes > c->stack_ns) {
                c->stack_ns = site->f.alloc_bytes;
                c->stack = site->stack;
                c->through = x.through;
        }
}

static int more_first(const void *a, const void *b) {
        const struct time_cause *x = a, *y = b;

        if (x->ns != y->ns)
                return x->ns > y->ns ? -1 : 1;
        return (x->stack > y->stack) - (x->stack < y->stack);
}

/* ---- the whole ------------------------------------------------------------------------------- */

int time_parts_gather(struct query *q, struct names *names, const struct query_scope *scope,
                      struct time_parts *ret, struct err *reterr) {
        struct gathering *g;
        int r;

        *ret = (struct time_parts){0};
        r = query_ask(q, scope, &ret->answer, reterr);
        if (r < 0)
                return r;
        g = calloc(1, sizeof(*g));
        if (!g)
                abort();
        g->q = q;
        g->look.names = names;
        for (size_t i = 0; i < ret->answer->n_sites; i++)
                add_site(g, &ret->answer->sites[i], ret);
        ret->ns = ret->answer->totals.alloc_bytes;
        ret->n_samples = ret->answer->totals.n_allocs;
        for (int i = 0; i < TIME_N_PARTS; i++) {
                if (g->causes[i].n > 1)
                        qsort(g->causes[i].items, g->causes[i].n, sizeof(struct time_cause),
                              more_first);
                ret->of[i].n_causes = g->causes[i].n;
                ret->of[i].causes = g->causes[i].items;
                map_done(&g->by_key[i]);
        }
        free(g);
        if (scope->of_time == QUERY_CPU_TIME)
                time_hot_find(q, names, ret);
        return 0;
}

void time_parts_done(struct time_parts *p) {
        for (int i = 0; i < TIME_N_PARTS; i++)
                free(p->of[i].causes);
        query_answer_free(p->answer);
        *p = (struct time_parts){0};
}
