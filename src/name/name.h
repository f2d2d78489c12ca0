/* SPDX-License-Identifier: MIT */
/* How functions are called, and which frames of a stack are worth showing.
 *
 *   names_load(&(struct name_sources){0}, &names, &err);            // the built-in rules
 *   name_short(names, "std::vector<int, std::allocator<int> >::push_back(int const&)");
 *                                                                   // std::vector<int>::push_back
 *   name_kind(names, "__libc_start_main_impl", "/lib/libc.so.6");   // NAME_START
 *
 *   struct name_stack stack = {0};
 *   name_fold(names, frames, n_frames, &stack);                     // as people want to see it
 *   for (size_t i = 0; i < stack.n; i++)
 *           puts(name_label(names, &frames[stack.items[i].frame_idx], stack.items[i].is_task));
 *   name_stack_done(&stack);
 *
 * The rules are data: names.rules, built in, then the user's own files; docs/names.md tells their
 * grammar. Names and rule files are hostile: any bytes, any length, any nesting cost time linear
 * in their length and a bounded stack.
 *
 * Every text handed out belongs to the names and lives as long as they do. What was worked out for
 * a function is remembered, so asking again is cheap; asking is not safe from two threads at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

enum { NAME_MAX_FILES = 16 };

struct names;
struct name_entry; /* what is known about a text */

/* Rules beyond the built-in ones. In each source the later rule wins, and of the sources the later
 * one: built in, then the user's $XDG_CONFIG_HOME/silt/rules (where there is one), then files. */
struct name_sources {
        const char *files[NAME_MAX_FILES];
        size_t n_files;
        /* Rules of components: of these the first that fits wins, and of the sources the first: files in their order, the user's
         * $XDG_CONFIG_HOME/silt/components.rules, built in. */
        const char *components[NAME_MAX_FILES];
        size_t n_components;
        bool with_config;     /* read the user's own files */
        bool without_builtin; /* for tests */
};

int names_load(const struct name_sources *sources, struct names **ret, struct err *reterr);
struct names *names_free(struct names *n); /* NULL ok; returns NULL */
DEFINE_CLEANUP(struct names, names_free)

/* ---- one function ---------------------------------------------------------------------------- */

enum name_kind {
        NAME_PLAIN,     /* the program's own, or a library's that does something of interest */
        NAME_ALLOCATOR, /* only passes the request on: malloc's family, containers, strings */
        NAME_START,     /* starts programs and threads */
        NAME_MACHINERY, /* between caller and called: invokers, catchers, executors */
        NAME_TASK,      /* the body of an async function, when a poll calls it; else plain */
        NAME_N_KINDS,
};
const char *name_kind_text(enum name_kind k);

/* function as the trace has it (demangled); "" is plain. module: path or file name, "" unknown. */
enum name_kind name_kind(struct names *n, const char *function, const char *module);

/* Everything but Rust's hash. */
const char *name_full(struct names *n, const char *function);

/* For tables: no return type, no parameters, no default template arguments, long template and
 * generic arguments as <…>, well-known types by their usual names. UTF-8. Never more cells than
 * the full form; the short form of a short form is itself. */
const char *name_short(struct names *n, const char *function);

/* The crate (Rust), the outermost namespace or class (C++), or, where a function has neither,
 * the file name of the module (a part of `module`); "" when there is none either. */
const char *name_crate(struct names *n, const char *function, const char *module);

/* The part of the program a function belongs to: docs/components.md. */
struct name_component {
        const char *name; /* by the rules; else its crate, as above; "" when there is none */
        bool passes_on;   /* its memory is rather its caller's */
};
struct name_frame;
struct name_component name_component(struct names *n, const struct name_frame *f);

/* What patterns of rules are held against: the path without arguments, hash, tags and inline
 * namespaces, `<A as B>::f` as A::f (B::f where A is no path). */
const char *name_plain(struct names *n, const char *function);

/* ---- stacks ---------------------------------------------------------------------------------- */

struct name_frame {
        const char *function; /* "" unknown */
        const char *file;     /* "" unknown */
        const char *module;   /* path; "" unknown */
        uint64_t offset;      /* in the module, or the address when it has none */
        uint32_t line;
        bool inlined;
        bool guess; /* the nearest symbol: mostly another function */
};

struct name_shown {
        uint32_t frame_idx; /* of the frames given */
        bool is_task;       /* label it as an async function */
};

/* The kind of a frame: the same, by its source file too. */
enum name_kind name_frame_kind(struct names *n, const struct name_frame *f);

enum { NAME_NO_FRAME = UINT32_MAX };

struct name_stack {
        struct name_shown *items;
        size_t n, cap;
        uint32_t via_idx; /* of the allocator frames cut off in front the outermost: what the
                           * program called; NAME_NO_FRAME: none was cut */
};

/* Frames innermost first. The first one shown is the code that asked: allocator and machinery
 * frames before it are cut, start frames at the outer end too; machinery is left out everywhere, of
 * a library's frames in a row all but the one the program called,
 * and the polls and closures of one async function are one frame, the innermost of them.
 * Frames without a name that an allocator of the same module called are its helpers, and so are one
 * or two with a name below a function that is called an allocator and is one.
 * Something is always shown of a stack that is not empty. Fills *ret, which keeps its memory for
 * the next call. */
void name_fold(struct names *n, const struct name_frame *frames, size_t n_frames,
               struct name_stack *ret);
void name_stack_done(struct name_stack *s);

/* The same in two steps, for those who meet the same frames again and again: what is to be known of
 * a frame, which may be kept, and the folding. */
struct name_look {
        const struct name_entry *entry, *module;
        enum name_kind kind;
        bool is_nameless;
};
struct name_look name_look(struct names *n, const struct name_frame *f);
void name_fold_looks(struct names *n, const struct name_look *frames, size_t n_frames,
                     struct name_stack *ret);

/* ---- wrappers -------------------------------------------------------------------------------- */

/* Wrappers of allocators that no rule knows: call paths tell them (query_learn_wrappers). From now on the frame's function,
 * or, where it has no name, the place in its module, is an allocator. A rule about it counts more. */
void name_learn_wrapper(struct names *n, const struct name_frame *f);
/* All that others learned about the same trace. */
void name_learn_like(struct names *n, const struct names *other);
/* How many were learned: what was kept of frames before (struct name_look) may no longer be true when it has changed. */
size_t name_n_learned(const struct names *n);
/* Whether a rule says what the frame is: `keep` among them. */
bool name_is_ruled(struct names *n, const struct name_frame *f);
/* Whether a function calls itself an allocator: by the last part of its path. */
bool name_look_says_allocator(const struct name_look *look);

/* The short form of a frame's function; `run (async)` for a task; `module+0x1234` where the name is
 * unknown or a guess. Valid until the next call. */
const char *name_label(struct names *n, const struct name_frame *f, bool is_task);
