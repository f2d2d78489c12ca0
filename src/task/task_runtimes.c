/* SPDX-License-Identifier: MIT */
#include "task/task_runtimes.h"

#include <string.h>

#include "base/macros.h"

const char *task_state_name(enum task_state s) {
        static const char *const names[] = {[TASK_WAITING] = "waiting",
                                            [TASK_READY] = "ready",
                                            [TASK_RUNNING] = "running",
                                            [TASK_FINISHED] = "finished"};

        return names[s];
}

const char *task_kind_name(enum task_kind k) {
        static const char *const names[] = {[TASK_FUTURE] = "task",
                                            [TASK_BLOCKING] = "blocking",
                                            [TASK_COROUTINE] = "coroutine",
                                            [TASK_OWN] = "runtime"};

        return names[k];
}

/* ---- tokio -------------------------------------------------------------------------------------------------- */

/* The first word of every version from 0.2 on: six flags, and above them how many hold the task. */
enum {
        TOKIO_RUNNING = 1,
        TOKIO_COMPLETE = 2,
        TOKIO_NOTIFIED = 4,
        TOKIO_JOIN_INTEREST = 8,
        TOKIO_JOIN_WAKER = 16, /* newer versions clear it with the handle */
        TOKIO_CANCELLED = 32,
        TOKIO_REF_SHIFT = 6,
        TOKIO_MAX_REFS = 1 << 24,
};

static bool decode_tokio(const uint64_t *words, struct task_word *ret) {
        uint64_t state = words[0], n_refs = state >> TOKIO_REF_SHIFT;
        bool is_running = state & TOKIO_RUNNING, is_complete = state & TOKIO_COMPLETE;

        if ((is_running && is_complete) || n_refs == 0 || n_refs > TOKIO_MAX_REFS)
                return false;
        *ret = (struct task_word){.state = is_complete              ? TASK_FINISHED
                                           : is_running             ? TASK_RUNNING
                                           : state & TOKIO_NOTIFIED ? TASK_READY
                                                                    : TASK_WAITING,
                                  .has_handle = state & TOKIO_JOIN_INTEREST,
                                  .is_cancelled = state & TOKIO_CANCELLED,
                                  .is_given_up = !is_complete && (state & TOKIO_JOIN_WAKER) &&
                                                 !(state & TOKIO_JOIN_INTEREST),
                                  .has_state = true};
        return true;
}

/* ---- async-task, of which smol and async-std are made ------------------------------------------------------ */

enum {
        ASYNC_SCHEDULED = 1,
        ASYNC_RUNNING = 2,
        ASYNC_COMPLETED = 4,
        ASYNC_CLOSED = 8,
        ASYNC_HANDLE = 16,
        ASYNC_REF_SHIFT = 8,
        ASYNC_MAX_REFS = 1 << 24,
};

static bool decode_async_state(uint64_t state, struct task_word *ret) {
        uint64_t n_refs = state >> ASYNC_REF_SHIFT;
        bool is_scheduled = state & ASYNC_SCHEDULED, is_running = state & ASYNC_RUNNING;
        bool is_completed = state & ASYNC_COMPLETED, is_closed = state & ASYNC_CLOSED;

        /* one that has ended is in no queue; a handle alone is not counted among those that hold it */
        if ((is_completed && (is_scheduled || is_running)) || n_refs > ASYNC_MAX_REFS ||
            (n_refs == 0 && !(state & ASYNC_HANDLE)))
                return false;
        *ret = (struct task_word){.state = is_running                  ? TASK_RUNNING
                                           : is_scheduled              ? TASK_READY
                                           : is_completed || is_closed ? TASK_FINISHED
                                                                       : TASK_WAITING,
                                  .has_handle = state & ASYNC_HANDLE,
                                  .is_cancelled = is_closed && !is_completed,
                                  .has_state = true};
        return true;
}

static bool decode_async_early(const uint64_t *words, struct task_word *ret) {
        return decode_async_state(words[0], ret);
}

static bool decode_async_late(const uint64_t *words, struct task_word *ret) {
        return decode_async_state(words[1], ret);
}

/* ---- coroutines of C++ -------------------------------------------------------------------------------------- */

/* What resumes it, which is nothing when it has ended, and what destroys it. Whether it runs at this moment, no word tells. */
static bool decode_coroutine(const uint64_t *words, struct task_word *ret) {
        *ret = (struct task_word){.state = words[0] ? TASK_WAITING : TASK_FINISHED,
                                  .has_state = words[0] == 0};
        return true;
}

/* ---- all of them -------------------------------------------------------------------------------------------- */

#define ASYNC_TASK "async-task"
/* with the types that DWARF has, and as the linker knows it */
#define ASYNC_SCHEDULE "async_task::raw::RawTask::schedule"
#define ASYNC_SCHEDULE_3 "async_task::raw::RawTask<F,T,S>::schedule"
#define ASYNC_SCHEDULE_4 "async_task::raw::RawTask<F,T,S,M>::schedule"
#define COROUTINE "C++ coroutines"

static const struct task_layout layouts[] = {
        /* state, next in a queue, table, owner */
        {"tokio", "1.21 to 1.54", "tokio::runtime::task::raw::poll", 2, decode_tokio},
        /* state, links of the list of all, next in a queue, table, owner */
        {"tokio", "1.13 to 1.20", "tokio::runtime::task::raw::poll", 4, decode_tokio},
        /* the same with next in a stack before the table */
        {"tokio", "0.2 to 1.12", "tokio::runtime::task::raw::poll", 5, decode_tokio},
        /* The compiler chooses the order. state, who awaits it (two words), table */
        {ASYNC_TASK, "4.0 to 4.7", ASYNC_SCHEDULE, 3, decode_async_early},
        {ASYNC_TASK, "4.0 to 4.7", ASYNC_SCHEDULE_3, 3, decode_async_early},
        {ASYNC_TASK, "4.0 to 4.7", ASYNC_SCHEDULE_4, 3, decode_async_early},
        /* table, state, who awaits it */
        {ASYNC_TASK, "4.0 to 4.7", ASYNC_SCHEDULE, 0, decode_async_late},
        {ASYNC_TASK, "4.0 to 4.7", ASYNC_SCHEDULE_3, 0, decode_async_late},
        {ASYNC_TASK, "4.0 to 4.7", ASYNC_SCHEDULE_4, 0, decode_async_late},
        {COROUTINE, "GCC 12", "*[clone .actor]", TASK_CODE, decode_coroutine},
        {COROUTINE, "clang 14", "*[clone .resume]", TASK_CODE, decode_coroutine},
        {COROUTINE, "GCC 12, clang 14", "*[clone .destroy]", TASK_CODE, decode_coroutine},
};

/* The name ends there, or what it is made for, or its hash, follows; after a `*`: it ends so. */
static bool has_name(const char *function, const char *name) {
        size_t n = strlen(name), n_all;

        if (name[0] == '*') {
                n_all = strlen(function);
                return n_all >= n - 1 && strcmp(function + n_all - (n - 1), name + 1) == 0;
        }
        return strncmp(function, name, n) == 0 &&
               (function[n] == '\0' || function[n] == '<' || strncmp(function + n, "::", 2) == 0);
}

bool task_is_poll(const char *function) {
        /* the first of tokio's ends with a jump to the next in optimised programs */
        static const char *const polls[] = {"tokio::runtime::task::raw::poll",
                                            "tokio::runtime::task::harness::Harness<T,S>::poll",
                                            "async_task::raw::RawTask::run",
                                            "async_task::raw::RawTask<F,T,S>::run",
                                            "async_task::raw::RawTask<F,T,S,M>::run"};

        for (size_t i = 0; i < ARRAY_SIZE(polls); i++)
                if (has_name(function, polls[i]))
                        return true;
        return false;
}

bool task_is_merged(const char *function) {
        return has_name(function, "*[clone .merged]");
}

enum task_caller task_caller_of(const char *function) {
        /* workers run on such threads too, but below a scheduler */
        static const char *const blocking[] = {"tokio::runtime::blocking::", "::UnownedTask<"};
        static const char *const scheduler[] = {
                "tokio::runtime::scheduler::", "tokio::runtime::thread_pool::",
                "tokio::runtime::basic_scheduler::", "::LocalNotified<", "tokio::task::local::"};

        for (size_t i = 0; i < ARRAY_SIZE(blocking); i++)
                if (strstr(function, blocking[i]))
                        return TASK_CALLER_BLOCKING;
        for (size_t i = 0; i < ARRAY_SIZE(scheduler); i++)
                if (strstr(function, scheduler[i]))
                        return TASK_CALLER_SCHEDULER;
        return TASK_CALLER_UNKNOWN;
}

bool task_is_runtime(const char *function) {
        for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
                if (has_name(function, layouts[i].function))
                        return true;
        return false;
}

enum task_told task_layout_find(const char *function, const uint64_t *words, int table_word,
                                const struct task_layout **ret_layout, struct task_word *ret) {
        enum task_told told = TASK_TOLD_NONE;

        for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
                const struct task_layout *x = &layouts[i];

                if (!has_name(function, x->function))
                        continue;
                *ret_layout = x;
                if (x->table_word == table_word && x->decode(words, ret))
                        return TASK_TOLD_KNOWN;
                if (told != TASK_TOLD_BROKEN)
                        told = x->table_word == table_word ? TASK_TOLD_BROKEN : TASK_TOLD_UNKNOWN;
        }
        return told;
}

/* ---- types -------------------------------------------------------------------------------------------------- */

/* The first of the types behind a function's name: up to a comma or the end, brackets counted. */
static const char *first_type(const char *function, size_t *ret_n) {
        const char *at = strchr(function, '<'), *begin;
        unsigned depth = 0;

        if (!at)
                return NULL;
        begin = ++at;
        for (; *at; at++) {
                if (*at == '<' || *at == '(' || *at == '[')
                        depth++;
                else if (*at == '>' && at[-1] == '-')
                        continue; /* of a function's type */
                else if ((*at == '>' || *at == ')' || *at == ']') && depth)
                        depth--;
                else if (!depth && (*at == '>' || *at == ','))
                        break;
        }
        *ret_n = (size_t)(at - begin);
        return *ret_n ? begin : NULL;
}

/* What is between `before` and the last '>' of a type that begins with it; else the type as it is. */
static const char *unwrap(const char *type, const char *before, size_t *n) {
        size_t n_before = strlen(before);

        if (*n <= n_before || strncmp(type, before, n_before) != 0 || type[*n - 1] != '>')
                return type;
        *n -= n_before + 1;
        return type + n_before;
}

/* What executors put around a future: the first of the types in it, or with is_last the last one. */
static const struct {
        const char *begin, *part;
        bool is_last;
} wrappers[] = {
        {"core::pin::Pin<alloc::boxed::Box<", "", false},
        {"async_executor::AsyncCallOnDrop<", "", false},
        {"async_std::task::builder::SupportTaskLocals<", "", false},
        {"async_std::task::task_locals_wrapper::", "", false},
        {"async_executor::", "::spawn::{async_block", true},
        {"async_executor::", "::spawn_inner::{async_block", true},
};

/* Where the last of the types in a type's brackets begins. */
static const char *last_type(const char *type, size_t *n) {
        const char *at = type, *begin = NULL;
        unsigned depth = 0;

        for (; at < type + *n; at++) {
                if (*at == '<' && ++depth == 1)
                        begin = at + 1;
                else if (*at == '>' && at[-1] != '-' && depth)
                        depth--;
                else if (*at == ',' && depth == 1)
                        begin = at + 2;
        }
        if (!begin || begin >= type + *n)
                return type;
        *n = (size_t)(type + *n - begin) - 1;
        return begin;
}

static const char *unwrap_async(const char *type, size_t *n) {
        for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
                size_t n_begin = strlen(wrappers[i].begin), n_part = strlen(wrappers[i].part);
                const char *inner;

                if (*n <= n_begin || strncmp(type, wrappers[i].begin, n_begin) != 0 ||
                    (n_part && !memmem(type, *n, wrappers[i].part, n_part)))
                        continue;
                inner = wrappers[i].is_last ? last_type(type, n)
                                            : first_type(type + n_begin - 1, n);
                return inner && inner != type ? unwrap_async(inner, n) : type;
        }
        return type;
}

/* Of Rust's library and of the runtime; what else there is spawned the task. */
static bool is_between(const char *function) {
        static const char *const crates[] = {"tokio::", "core::", "alloc::", "std::"};
        const char *at = function + strspn(function, "<");

        for (size_t i = 0; i < ARRAY_SIZE(crates); i++)
                if (strncmp(at, crates[i], strlen(crates[i])) == 0)
                        return true;
        return false;
}

bool task_path_look(struct task_path *p, const char *function) {
        /* who starts workers, by the pool of threads that block */
        static const char *const own[] = {"::worker::Launch::launch", "::worker::block_in_place",
                                          "tokio::runtime::builder::Builder::build"};

        const char *pool = strstr(function, "tokio::runtime::blocking::pool::");

        if (!is_between(function) || strstr(function, "::poll"))
                return !p->is_inside; /* the allocator is before the runtime */
        p->is_inside |= strstr(function, "tokio::") != NULL;
        if (pool && strstr(pool, "::spawn"))
                p->kind = TASK_BLOCKING;
        for (size_t i = 0; p->kind == TASK_BLOCKING && i < ARRAY_SIZE(own); i++)
                if (strstr(function, own[i]))
                        p->kind = TASK_OWN;
        return p->kind != TASK_OWN;
}

/* "app::session(int) [clone .resume]": app::session */
static void add_coroutine(const char *function, struct str *to) {
        size_t n = strcspn(function, "([");

        while (n && function[n - 1] == ' ')
                n--;
        str_addn(to, function, n);
}

static bool is_coroutine(const char *function) {
        return has_name(function, "*[clone .actor]") || has_name(function, "*[clone .resume]") ||
               has_name(function, "*[clone .destroy]");
}

enum task_kind task_add_type(const char *function, struct str *to) {
        size_t n = 0, n_all;
        const char *type, *inner;
        enum task_kind kind = TASK_FUTURE;

        if (is_coroutine(function)) {
                add_coroutine(function, to);
                return TASK_COROUTINE;
        }
        if (strstr(function, "RawTask<F,"))
                return TASK_FUTURE; /* what the source calls them tells nothing */
        type = first_type(function, &n);

        if (!type)
                return TASK_FUTURE;
        n_all = n;
        inner = unwrap(type, "tokio::runtime::blocking::task::BlockingTask<", &n);
        if (n != n_all)
                kind = memmem(inner, n, "tokio::runtime::", strlen("tokio::runtime::")) == inner
                               ? TASK_OWN
                               : TASK_BLOCKING;
        inner = unwrap(inner, "core::future::from_generator::GenFuture<", &n);
        inner = unwrap_async(inner, &n);
        str_addn(to, inner, n);
        return kind;
}

void task_add_type_words(const char *type, struct str *to) {
        static const struct {
                const char *end, *words;
        } ends[] = {{"::{async_fn_env#", ""},
                    {"::{async_block_env#", "an async block in "},
                    {"::{closure_env#", "a closure in "},
                    {"::{closure#", "an async block in "},
                    {"::{{closure}}", "an async block in "}};

        for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                const char *at = strstr(type, ends[i].end);

                if (!at)
                        continue;
                str_add(to, ends[i].words);
                str_addn(to, type, (size_t)(at - type));
                return;
        }
        str_add(to, type);
}
