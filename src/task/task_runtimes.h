/* SPDX-License-Identifier: MIT */
/* How runtimes lay out their tasks: one table (task_runtimes.c). A task is told by the name of a function that its first words lead to and by
 * where they do; what has the name but another layout is told as unknown, never guessed (docs/tasks.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum task_state {
        TASK_WAITING, /* for something that will wake it */
        TASK_READY,   /* woken, or new: it stands in a queue */
        TASK_RUNNING,
        TASK_FINISHED, /* its memory is there, because somebody may ask for the result */
        N_TASK_STATES,
};
const char *task_state_name(enum task_state s); /* "waiting", "ready", "running", "finished" */

/* What a task's first words say. */
struct task_word {
        enum task_state state;
        bool has_handle;   /* somebody may still ask for its result */
        bool is_cancelled; /* it was told to end */
        bool is_given_up; /* somebody awaited it, and dropped the handle; never where the runtime forgets that */
        bool has_state; /* false: where the runtime keeps none, as coroutines do */
};

struct task_layout {
        const char *runtime;  /* "tokio" */
        const char *versions; /* it was looked at in: "1.21 to 1.54" */
        const char *
                function; /* what the name of the first function of its table begins with; after a `*`: ends with */
        int table_word; /* which of its words points there; TASK_CODE: the first one is the function itself */
        /* False: words that a task of this layout cannot have. */
        bool (*decode)(const uint64_t *words, struct task_word *ret);
};

enum { TASK_CODE = -1 };

enum task_told {
        TASK_TOLD_NONE, /* it is something else */
        TASK_TOLD_KNOWN,
        TASK_TOLD_UNKNOWN, /* a runtime's, but its layout is none of those here */
        TASK_TOLD_BROKEN, /* its table is where a layout has it, but no task has such words: mostly left over in memory that is something else's now */
};

/* function: readable, as the trace has it; words: HEAP_HEAD_WORDS of them; table_word: as above. *ret_layout is of TASK_TOLD_UNKNOWN any of the
 * runtime's. */
enum task_told task_layout_find(const char *function, const uint64_t *words, int table_word,
                                const struct task_layout **ret_layout, struct task_word *ret);

/* Whether it is a function of any runtime's table. */
bool task_is_runtime(const char *function);
/* Whether it is the one that runs a task, below which is what the task does. */
bool task_is_poll(const char *function);

/* Whether its types are those of one of several functions that the compiler found to be the same. */
bool task_is_merged(const char *function);

/* Who calls such a function, from the inner end on. */
enum task_caller {
        TASK_CALLER_UNKNOWN,   /* it does not tell: the next one may */
        TASK_CALLER_SCHEDULER, /* other tasks wait until it returns */
        TASK_CALLER_BLOCKING,  /* a thread for calls that block: nobody waits for it */
};
enum task_caller task_caller_of(const char *function);

enum task_kind {
        TASK_FUTURE,    /* runs a future */
        TASK_BLOCKING,  /* a function on a thread of its own (spawn_blocking) */
        TASK_COROUTINE, /* of C++ */
        TASK_OWN,       /* the runtime's own: its workers */
        N_TASK_KINDS,
};
const char *task_kind_name(enum task_kind k); /* "task", "blocking", "coroutine", "runtime" */

/* What a task is by the call path that allocated it, where its type is unknown: fed with functions, the allocator's caller first, until one says
 * false. */
struct task_path {
        enum task_kind kind;
        bool is_inside; /* of the runtime */
};
#define TASK_PATH_BEGIN ((struct task_path){TASK_FUTURE, false})
bool task_path_look(struct task_path *p, const char *function);

/* Appends which type of future or function it runs, by the same name: "app::serve::{async_fn_env#0}"; nothing where the name does not tell. */
enum task_kind task_add_type(const char *function, struct str *to);

/* Appends it as people say it: "app::serve", "an async block in app::main". */
void task_add_type_words(const char *type, struct str *to);
