/* SPDX-License-Identifier: MIT */
/* Logs of ltrace, with calls of allocation functions among others:
 *
 *   [pid 8388] 06:01:41.379568 [0x40119e] server->malloc(100)        = 0x38e0e2a0 <0.000162>
 *   server->free(0x38e0e2a0)                                          = <void>
 *   malloc(100 <unfinished ...>                                       others come between
 *   <... malloc resumed> )                                            = 0x38e0e2a0
 *   +++ exited (status 0) +++
 *
 * What stands before the name depends on options: the process (-f), the time of day (-t, -tt), of the epoch (-ttt) or since the line before (-r), where
 * it returns to (-i). If a call of another library was traced too, allocations are inside others, as malloc in operator new: the inner
 * one counts. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "import/import_format.h"

enum {
        LTRACE_MAX_ARGS = 4,
        LTRACE_MAX_DEPTH = 64,
        LTRACE_MAX_TEXT = 4096,
};

#define LTRACE_DAY_NS (86400ull * 1000000000)
#define LTRACE_EPOCH_S 100000000ull /* more seconds than any run takes */

enum call_kind { CALL_ALLOCATE, CALL_RELEASE, CALL_REALLOCATE };

struct call_form {
        const char *name;
        enum call_kind kind;
        uint8_t n_args, size_arg,
                times_arg; /* numbered from 1; 0: none. The first one is the old block */
};

static const struct call_form forms[] = {
        {"malloc", CALL_ALLOCATE, 1, 1, 0},    {"calloc", CALL_ALLOCATE, 2, 1, 2},
        {"valloc", CALL_ALLOCATE, 1, 1, 0},    {"pvalloc", CALL_ALLOCATE, 1, 1, 0},
        {"memalign", CALL_ALLOCATE, 2, 2, 0},  {"aligned_alloc", CALL_ALLOCATE, 2, 2, 0},
        {"_Znwm", CALL_ALLOCATE, 1, 1, 0},     {"_Znam", CALL_ALLOCATE, 1, 1, 0},
        {"realloc", CALL_REALLOCATE, 2, 2, 0}, {"reallocarray", CALL_REALLOCATE, 3, 2, 3},
        {"free", CALL_RELEASE, 1, 0, 0},       {"cfree", CALL_RELEASE, 1, 0, 0},
        {"_ZdlPv", CALL_RELEASE, 1, 0, 0},     {"_ZdaPv", CALL_RELEASE, 1, 0, 0},
        {"_ZdlPvm", CALL_RELEASE, 1, 0, 0},    {"_ZdaPvm", CALL_RELEASE, 1, 0, 0},
};

struct call {
        const struct call_form *form;
        uint64_t args[LTRACE_MAX_ARGS];
        uint32_t stack;
        bool has_inner; /* another one was finished inside */
};

struct ltrace_thread {
        uint32_t id;
        VEC(struct call) open; /* unfinished */
};

/* What stands before a call. */
struct line_head {
        uint64_t pid, time_ns, ip;
        bool has_time, is_relative, is_of_day, is_whole;
        char module[256];
        const char *rest;
};

struct ltrace {
        struct import_input *in;
        struct import_trace *t;
        struct err *reterr;
        uint64_t now_ns, first_ns, day_ns, last_of_day_ns;
        bool is_begun, has_times, has_whole, has_first, has_aligned, has_inside, has_callers;
        VEC(struct ltrace_thread) threads;
        struct map thread_of; /* pid → index */
};

/* ---- what stands before a call ------------------------------------------------------------------ */

/* "41.379568": nanoseconds. */
static bool take_seconds(const char **at, uint64_t *ret_ns) {
        uint64_t s = 0, ns = 0, unit = 100000000;
        const char *p = *at;

        for (; *p >= '0' && *p <= '9'; p++)
                if ((s = s * 10 + (uint64_t)(*p - '0')) > UINT32_MAX)
                        return false;
        if (p == *at)
                return false;
        if (*p == '.')
                for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
                        ns += (uint64_t)(*p - '0') * unit;
        *ret_ns = s * 1000000000 + ns;
        *at = p;
        return true;
}

/* A pid, a time of any of the three kinds, or nothing that is known here: false. */
static bool take_prefix(struct line_head *h, const char **at) {
        const char *p = *at;
        uint64_t a, b, c;

        if (strncmp(p, "[pid ", 5) == 0) {
                char *end;

                h->pid = strtoull(p + 5, &end, 10);
                if (*end != ']')
                        return false;
                *at = end + 1;
                return true;
        }
        if (strncmp(p, "[0x", 3) == 0) {
                char *end;

                h->ip = strtoull(p + 1, &end, 16);
                if (*end != ']')
                        return false;
                *at = end + 1;
                return true;
        }
        if (!take_seconds(&p, &a))
                return false;
        if (*p == ':') {
                p++;
                if (!take_seconds(&p, &b) || *p++ != ':' || !take_seconds(&p, &c))
                        return false;
                h->time_ns = a * 3600 + b * 60 + c;
                h->has_time = h->is_of_day = true;
                h->is_whole = !memchr(*at, '.', (size_t)(p - *at));
        } else if (memchr(*at, '.', (size_t)(p - *at))) {
                h->time_ns = a;
                h->has_time = true;
                h->is_relative = a < LTRACE_EPOCH_S * 1000000000;
        } else
                h->pid = a / 1000000000;
        if (*p != ' ')
                return false;
        *at = p;
        return true;
}

static void take_head(const char *line, struct line_head *h) {
        const char *arrow, *open;

        *h = (struct line_head){0};
        line += strspn(line, " ");
        while (take_prefix(h, &line))
                line += strspn(line, " ");
        arrow = strstr(line, "->");
        open = strchr(line, '(');
        if (arrow && open && arrow < open && line[0] != '<') {
                snprintf(h->module, sizeof(h->module), "%.*s", (int)MIN(arrow - line, 255), line);
                line = arrow + 2;
        }
        h->rest = line;
}

/* ---- calls -------------------------------------------------------------------------------------- */

static const struct call_form *find_form(const char *name, size_t n) {
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
                if (strlen(forms[i].name) == n && memcmp(forms[i].name, name, n) == 0)
                        return &forms[i];
        return NULL;
}

static bool take_number(const char **at, uint64_t *ret) {
        char *end;

        *at += strspn(*at, " ");
        if (strncmp(*at, "nil", 3) == 0 || strncmp(*at, "(nil)", 5) == 0) {
                *at += **at == '(' ? 5 : 3;
                *ret = 0;
                return true;
        }
        errno = 0;
        *ret = strtoull(*at, &end, 0);
        if (errno || end == *at || **at == '-')
                return false;
        *at = end;
        return true;
}

/* "malloc@libc.so.6(100)": name, form and numbers; *at moves behind the last one. False: a call of something else. */
static bool take_call(const char **at, struct call *c) {
        const char *open = strchr(*at, '(');
        size_t n = strcspn(*at, "@(");

        *c = (struct call){0};
        if (!open || !(c->form = find_form(*at, n)))
                return false;
        *at = open + 1;
        for (size_t i = 0; i < c->form->n_args; i++) {
                if (!take_number(at, &c->args[i]))
                        return false;
                *at += **at == ',';
        }
        return true;
}

/* What stands behind the last " = ". */
static bool take_result(const char *rest, uint64_t *ret) {
        const char *at = strrchr(rest, '=');

        if (!at || at == rest || at[-1] != ' ')
                return false;
        at++;
        at += strspn(at, " ");
        *ret = 0;
        return strncmp(at, "<void>", 6) == 0 || take_number(&at, ret);
}

/* ---- events ------------------------------------------------------------------------------------- */

static struct ltrace_thread *thread_of(struct ltrace *l, uint64_t pid) {
        bool is_new;
        uint64_t *idx = map_put(&l->thread_of, pid, l->threads.n, &is_new);
        struct ltrace_thread thread = {0};

        if (is_new) {
                /* the first one is there already */
                if (l->threads.n &&
                    import_trace_add_thread(l->t, (uint32_t)pid, NULL, &thread.id) < 0)
                        thread.id = 0;
                vec_push(&l->threads, thread);
        }
        return &l->threads.items[*idx];
}

static void come_to(struct ltrace *l, const struct line_head *h) {
        uint64_t at = h->time_ns;

        if (!h->has_time || !l->has_times)
                return;
        if (h->is_relative) {
                l->now_ns += at;
                return;
        }
        if (h->is_of_day) { /* past midnight */
                if (at + LTRACE_DAY_NS / 2 < l->last_of_day_ns)
                        l->day_ns += LTRACE_DAY_NS;
                l->last_of_day_ns = at;
                at += l->day_ns;
        }
        if (!l->has_first)
                l->first_ns = at;
        l->has_first = true;
        l->now_ns = MAX(l->now_ns, at > l->first_ns ? at - l->first_ns : 0);
}

/* The caller, as far as it is told: the file it is in by its name alone, and its address in memory, which no name can be looked up for. */
static int stack_of(struct ltrace *l, const struct line_head *h, uint32_t *ret) {
        char name[360];
        struct import_function function = {"", "", 0};
        struct import_place place = {.module = h->module, .functions = &function, .n_functions = 1};
        uint32_t location;
        int r;

        *ret = 0;
        if (!h->ip && !h->module[0])
                return 0;
        l->has_callers |= h->ip != 0;
        if (!h->ip)
                snprintf(name, sizeof(name), "[%s]", h->module);
        else
                snprintf(name, sizeof(name), "(code without a name at 0x%" PRIX64 "%s%s)", h->ip,
                         h->module[0] ? " in " : "", h->module);
        function.name = name;
        r = import_trace_place(l->t, &place, &location, l->reterr);
        if (r >= 0)
                r = import_trace_stack(l->t, 0, location, ret);
        return r < 0 ? err_set_errno(l->reterr, r, "too many callers") : 0;
}

static int put_call(struct ltrace *l, const struct ltrace_thread *t, const struct call *c,
                    uint64_t result) {
        const struct call_form *f = c->form;
        uint64_t size = f->size_arg ? c->args[f->size_arg - 1] : 0;
        int r = 0;

        if (f->times_arg && __builtin_mul_overflow(size, c->args[f->times_arg - 1], &size))
                return 0; /* it cannot have succeeded */
        if (f->kind == CALL_RELEASE || (f->kind == CALL_REALLOCATE && !size && !result))
                r = import_trace_release(l->t, l->now_ns, t->id, c->args[0]);
        else if (f->kind == CALL_ALLOCATE && result)
                r = import_trace_allocate(l->t, l->now_ns, t->id, result, size, c->stack);
        else if (result)
                r = import_trace_reallocate(l->t, l->now_ns, t->id, c->args[0], result, size,
                                            c->stack);
        return r < 0 ? import_input_refuse(l->in, l->reterr, "a block is too large") : 0;
}

static int finish_call(struct ltrace *l, struct ltrace_thread *t, const struct call *c,
                       const char *rest) {
        uint64_t result;

        if (c->has_inner || !take_result(rest, &result))
                return 0;
        for (size_t i = 0; i < t->open.n; i++)
                t->open.items[i].has_inner = true;
        return put_call(l, t, c, result);
}

/* ---- lines -------------------------------------------------------------------------------------- */

static const char unfinished[] = "<unfinished ...>", resumed[] = " resumed>",
                  no_return[] = "<no return ...>";

/* "<... malloc resumed> ) = 0x38e0e2a0" */
static int take_resumed(struct ltrace *l, struct ltrace_thread *t, const char *rest) {
        const char *name = rest + strlen("<... "), *end = strstr(name, resumed);
        const struct call_form *f;
        struct call c;

        if (!end)
                return 0;
        f = find_form(name, MIN(strcspn(name, "@"), (size_t)(end - name)));
        for (size_t i = t->open.n; f && i-- > 0;)
                if (t->open.items[i].form == f) {
                        c = t->open.items[i];
                        t->open.n = i;
                        return finish_call(l, t, &c, end + strlen(resumed));
                }
        return 0;
}

static int take_end(struct ltrace *l, const char *rest) {
        int status;

        if (sscanf(rest, "+++ exited (status %d) +++", &status) == 1)
                import_trace_end(l->t, l->now_ns, TRACE_ENDED_EXIT, status);
        return 0;
}

/* Calls of the C library that allocate without a line of their own: how much is not said. */
static bool allocates_inside(const char *call) {
        static const char *const names[] = {"strdup",    "strndup", "__strdup",
                                            "__strndup", "wcsdup",  "asprintf",
                                            "vasprintf", "getline", "getdelim"};
        size_t n = strcspn(call, "@(");

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strlen(names[i]) == n && memcmp(names[i], call, n) == 0)
                        return true;
        return false;
}

/* Whether ltrace wrote it: it writes where the program writes its errors, unless it is told otherwise. Names may have blanks (-C). */
static bool is_of_ltrace(const char *rest) {
        const char *open = strchr(rest, '(');

        return strncmp(rest, "<... ", 5) == 0 || strncmp(rest, "--- SIG", 7) == 0 ||
               strncmp(rest, "+++ exited", 10) == 0 || strncmp(rest, "+++ killed", 10) == 0 ||
               (open &&
                (strstr(open, " = ") || strstr(open, unfinished) || strstr(open, no_return)));
}

/* A line that is surely none of the program's: one of a call that is known, or without a call. */
static bool tells_options(const char *rest) {
        struct call c;

        return strchr("<-+", rest[0]) || take_call(&rest, &c);
}

/* Options decide for the whole log whether lines have times: the first that tells them. */
static int begin(struct ltrace *l, const struct line_head *h) {
        if (l->is_begun)
                return 0;
        l->is_begun = true;
        l->has_times = h->has_time;
        l->has_whole = h->is_whole;
        return import_trace_begin(
                l->t,
                &(struct import_begin){
                        .has_no_time = !h->has_time,
                        /* the first call is the program's, unless a library's were traced, too */
                        .program = strstr(h->module, ".so") ? "" : h->module},
                l->reterr);
}

static int take_line(struct ltrace *l, const char *line) {
        struct ltrace_thread *t;
        struct line_head h;
        struct call c;
        const char *at;
        int r;

        take_head(line, &h);
        if (!is_of_ltrace(h.rest))
                return 0;
        l->has_aligned |= strncmp(h.rest, "posix_memalign", 14) == 0;
        l->has_inside |= allocates_inside(h.rest);
        if (!l->is_begun && !tells_options(h.rest))
                return 0;
        r = begin(l, &h);
        if (r < 0)
                return r;
        come_to(l, &h);
        if (strncmp(h.rest, "+++", 3) == 0)
                return take_end(l, h.rest);
        t = thread_of(l, h.pid);
        if (strncmp(h.rest, "<... ", 5) == 0)
                return take_resumed(l, t, h.rest);
        at = h.rest;
        if (!take_call(&at, &c))
                return 0;
        r = stack_of(l, &h, &c.stack);
        if (r < 0)
                return r;
        if (!strstr(at, unfinished))
                return finish_call(l, t, &c, at);
        if (t->open.n < LTRACE_MAX_DEPTH)
                vec_push(&t->open, c);
        return 0;
}

static void tell(struct ltrace *l) {
        if (!l->has_times)
                import_trace_limit(
                        l->t, "It has no times, and events are numbered: record with ltrace -ttt");
        if (l->has_whole) {
                import_trace_clock_step(l->t, 1000000000);
                import_trace_limit(l->t, "Its times are whole seconds: record with ltrace -ttt");
        }
        if (!l->has_callers)
                import_trace_limit(
                        l->t, "It names no call sites, only files of code: record with ltrace -i");
        if (l->has_inside)
                import_trace_limit(
                        l->t,
                        "Blocks of strdup and other functions that allocate inside the C library are missing: ltrace does not show their sizes");
        if (l->has_aligned)
                import_trace_limit(
                        l->t,
                        "Blocks of posix_memalign are missing: ltrace does not show where they are");
}

static int read_log(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct ltrace l = {.in = in, .t = t, .reterr = reterr};
        char *line;
        size_t n;
        int r = 0;

        while (r >= 0) {
                uint64_t before = in->taken_bytes;

                r = import_input_line(in, &line, &n, reterr);
                if (r <= 0 || in->taken_bytes - before == n) /* cut off */
                        break;
                r = take_line(&l, line);
        }
        if (r >= 0)
                r = begin(&l, &(struct line_head){0});
        if (r >= 0)
                tell(&l);
        for (size_t i = 0; i < l.threads.n; i++)
                vec_free(&l.threads.items[i].open);
        vec_free(&l.threads);
        map_done(&l.thread_of);
        return r < 0 ? r : 0;
}

/* A line with a call of an allocation function that has ended. */
static bool is_call(const char *line) {
        struct line_head h;
        struct call c;
        uint64_t result;
        const char *at;

        take_head(line, &h);
        at = h.rest;
        return take_call(&at, &c) && (*at == ')' || *at == ' ' || *at == ',') &&
               (take_result(at, &result) || strstr(at, unfinished));
}

static bool matches(const uint8_t *head, size_t n) {
        const char *at = (const char *)head, *end = at + n;

        while (at < end) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                char line[LTRACE_MAX_TEXT];

                if (!stop)
                        return false;
                snprintf(line, sizeof(line), "%.*s",
                         (int)MIN((size_t)(stop - at), sizeof(line) - 1), at);
                if (is_call(line))
                        return true;
                at = stop + 1;
        }
        return false;
}

const struct import_format import_ltrace = {
        .name = "ltrace",
        .title = "an ltrace log",
        .lacks =
                "the calls that ltrace was told to trace, and of call paths at most the address of the caller",
        .ends_with_line = true,
        .matches = matches,
        .read = read_log,
};
