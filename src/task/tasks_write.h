/* SPDX-License-Identifier: MIT */
/* The answer of silt tasks, gathered, and its two forms. Inside task/ only. */
#pragma once

#include "base/json.h"
#include "show/style.h"
#include "task/source_list.h"
#include "task/task_list.h"
#include "task/task_stretch.h"
#include "task/tasks.h"
#include "task/thread_list.h"

struct tasks {
        const struct tasks_options *options;
        struct frame_names names;
        struct site_texts texts;
        size_t graph_idx; /* SIZE_MAX: the trace has none, threads are all that is known */
        struct held_graph graph;
        struct task_list list;
        struct source_list sources;
        struct thread_list threads;
        task_time_list times; /* of a trace without a graph: all that is known of tasks */
};

void tasks_init(struct tasks *t, const struct tasks_options *o, struct query *q,
                struct names *names);
/* By one graph of the trace. */
int tasks_gather(struct tasks *t, struct query *q, size_t graph_idx, struct err *reterr);
void tasks_done(struct tasks *t);

/* Most programs have none: whether a graph has some is seen by the names of functions, before anything is computed. 1: it has, 0: it has not,
 * which is not for sure if *ret_is_nameless, as some functions have no names; NULL ok. */
int tasks_are_in(struct query *q, size_t graph_idx, bool *ret_is_nameless, struct err *reterr);

void tasks_text(FILE *out, const struct tasks *t);
void tasks_json(FILE *out, const struct tasks *t);

/* Appends what the group runs: "app::serve", else "a type without a name". */
void tasks_add_type(const struct tasks *t, const struct task_group *x, struct str *to);
/* Appends the first sentence. */
void tasks_add_sentence(const struct tasks *t, bool utf8, struct str *to);
/* Appends "spawned by serve at server.rs:88"; false: nobody knows. */
bool tasks_add_spawn(const struct tasks *t, const struct task_group *x, bool utf8, struct str *to);
/* Who spawned them, by the innermost frame shown of their call path. False: nobody knows; to be done either way. */
struct tasks_spawner {
        struct frame_stack stack;
        const struct name_frame *frame;
        bool is_task;
};
bool tasks_spawner_find(const struct tasks *t, const struct task_group *x,
                        struct tasks_spawner *ret);
void tasks_spawner_done(struct tasks_spawner *s);
/* Appends " by serve" behind a line that tasks_add_spawn told; nothing where it told the function itself. */
void tasks_add_spawner(const struct tasks *t, const struct task_group *x, bool utf8,
                       struct str *to);
/* The same as of a group, of the call path itself. */
bool tasks_add_spawn_of(const struct tasks *t, uint32_t stack, bool utf8, struct str *to);

/* Sources of main loops, between tasks and threads. Nothing where there is none. */
void sources_add_sentence(const struct tasks *t, bool utf8, struct str *to);
/* Appends "timeouts that call on_tick" of several, or "timeout that calls on_tick" of one. */
void sources_add_kind(const struct tasks *t, const struct source_group *x, uint64_t n,
                      struct str *to);
/* Appends "added at main.c:20"; false: nobody knows. */
bool sources_add_adder(const struct tasks *t, const struct source_group *x, bool utf8,
                       struct str *to);
void sources_text(const struct style *s, const struct tasks *t);
void sources_json(struct json *j, const struct tasks *t);

/* Threads, after the tasks. The sentence is empty where there is none beside the first. */
void threads_add_sentence(const struct tasks *t, bool utf8, struct str *to);
void threads_text(const struct style *s, const struct tasks *t);
void threads_json(struct json *j, const struct tasks *t);
