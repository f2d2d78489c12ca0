/* SPDX-License-Identifier: MIT */
/* The sources of GLib's main loops in a graph, in groups by kind, callback and where they were added. Inside task/ only. */
#pragma once

#include "base/vec.h"
#include "keep/held_graph.h"

enum source_state {
        SOURCE_WAITING,
        SOURCE_READY,      /* its callback is called in this turn of the loop */
        SOURCE_RUNNING,    /* it is being called */
        SOURCE_UNATTACHED, /* no loop has it, or none has it yet */
        SOURCE_REMOVED,    /* no loop calls it any more, and somebody has a reference to it */
        N_SOURCE_STATES,
};
const char *source_state_name(enum source_state s); /* "waiting" … "removed" */

/* What GLib's own tables are called, and what people call sources that have them. */
struct source_kind {
        const char *table;         /* "g_timeout_funcs" */
        const char *one, *several; /* "timeout", "timeouts" */
        bool is_idle;              /* called as soon as nothing else is to be done */
        bool is_timer; /* of nothing else: two with the same callback and data do the same */
};

struct source_group {
        const struct source_kind *kind; /* NULL: another's */
        uint32_t table;    /* text: the table's name, or the module that it is in; 0: unknown */
        uint32_t callback; /* text: what is called; 0: unknown */
        uint32_t stack;    /* a call path that added one; REACH_NO_SITE: unknown */
        uint64_t path;     /* hash of its inner end, to who added it; 0: unknown */
        uint64_t n, n_in[N_SOURCE_STATES], bytes;
        uint64_t n_same; /* loops have them, and one before them with the same callback and data */
        uint64_t first_seq, oldest_ns; /* UINT64_MAX: unknown */
        uint64_t n_gone; /* that were added there by any path to that line, and freed */
        bool is_counted; /* that is known */
};

struct source_list {
        VEC(struct source_group) groups;          /* most first */
        uint64_t n, n_in[N_SOURCE_STATES], bytes; /* bytes: with what callbacks are kept in */
        uint64_t
                n_doubtful; /* blocks that look like sources, of a program whose main loops are not known */
};

/* Needs no symbols but those that a library exports; texts: those the graph was opened with. */
void source_list_make(struct source_list *l, const struct held_graph *g, struct query *q,
                      const struct frame_names *names, struct site_texts *texts);
/* Whether there are any of GLib's kinds, which its own libraries' are, before anything is computed. */
bool sources_are_in(const struct held_graph *g, struct query *q);
void source_list_done(struct source_list *l);

/* The frame that added a source by its call path: the innermost that is none of GLib's. False: nobody knows; to be done either way. */
bool source_adder_find(const struct frame_names *names, uint32_t stack, struct frame_stack *s,
                       const struct name_frame **ret);
