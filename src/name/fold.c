/* SPDX-License-Identifier: MIT */
/* Stacks as people want to see them. */
#include <string.h>

#include "base/vec.h"
#include "name/name_entry.h"

enum { FOLD_MAX_INSIDE = 2 }; /* frames with names below an allocator that are part of it */

struct name_look name_look(struct names *n, const struct name_frame *f) {
        return (struct name_look){
                .entry = names_entry(n, f->guess ? "" : f->function),
                .module = names_entry(n, f->module),
                .kind = name_frame_kind(n, f),
                .is_nameless = f->guess || !f->function[0],
        };
}

/* What is folded: the frames, and which of them are async functions. */
struct stack {
        const struct name_look *frames;
        const bool *is_task;
};

/* A closure is an async function's body when a poll, or another such body, calls it. */
static void find_tasks(const struct name_look *frames, size_t n, bool *is_task) {
        for (size_t i = n; i > 0; i--)
                is_task[i - 1] = frames[i - 1].kind == NAME_TASK && i < n &&
                                 (is_task[i] || frames[i].entry->is_driver);
}

static bool is_shown(const struct name_look *f) {
        return f->kind == NAME_PLAIN || f->kind == NAME_TASK;
}

static bool is_named(const struct name_look *f, const char *plain) {
        return strcmp(f->entry->plain, plain) == 0;
}

static bool is_start(const struct name_look *frames, size_t i) {
        if (frames[i].kind == NAME_START)
                return true;
        if (i == 0 || frames[i - 1].kind != NAME_START)
                return false;
        /* a stripped program's _start calls libc's, Rust's own main that of std */
        return frames[i].is_nameless || (is_named(&frames[i], "main") &&
                                         strncmp(frames[i - 1].entry->plain, "std::rt::", 9) == 0);
}

/* How many of the n frames are left when those at the outer end go that only start programs and
 * threads, and library code among them; when nothing would be left, only the former. */
static size_t cut_start(const struct name_look *frames, size_t n) {
        size_t n_without_starts = n, left;

        while (n_without_starts > 0 && is_start(frames, n_without_starts - 1))
                n_without_starts--;
        left = n_without_starts;
        while (left < n && left > 0 && (is_start(frames, left - 1) || !is_shown(&frames[left - 1])))
                left--;
        return left ? left : n_without_starts;
}

static void show(struct name_stack *s, size_t frame_idx, bool is_task) {
        vec_push(s, (struct name_shown){(uint32_t)frame_idx, is_task});
}

/* Whether both are bodies of the same async function: closures in closures. */
static bool is_same_task(const struct stack *s, size_t a, size_t b) {
        const char *a_plain = s->frames[a].entry->plain, *b_plain = s->frames[b].entry->plain;
        const char *a_end = strstr(a_plain, "::{closure}"), *b_end = strstr(b_plain, "::{closure}");

        return s->is_task[a] && s->is_task[b] && a_end && b_end &&
               a_end - a_plain == b_end - b_plain &&
               memcmp(a_plain, b_plain, (size_t)(a_end - a_plain)) == 0;
}

/* Of a library's frames in a row only the outermost is of interest: what the program called. */
static bool is_inside_library(const struct name_look *frames, size_t i, size_t end) {
        if (frames[i].kind != NAME_ALLOCATOR)
                return false;
        for (i++; i < end && frames[i].kind == NAME_MACHINERY;)
                i++;
        return i < end && frames[i].kind == NAME_ALLOCATOR;
}

static void show_range(struct name_stack *to, const struct stack *s, size_t begin, size_t end) {
        size_t last = SIZE_MAX;

        for (size_t i = begin; i < end; i++) {
                if (s->frames[i].kind == NAME_MACHINERY || is_inside_library(s->frames, i, end))
                        continue;
                if (last == SIZE_MAX || !s->is_task[i] || !is_same_task(s, last, i))
                        show(to, i, s->is_task[i]);
                last = i;
        }
}

/* Behind frames[i..] without names, when an allocator of the same module called them: then they are
 * its helpers, which no symbol table lists. i: they are not. */
static size_t skip_helpers(const struct name_look *frames, size_t i, size_t end) {
        size_t j = i;

        while (j < end && frames[j].is_nameless && frames[j].module == frames[i].module)
                j++;
        return j < end && frames[j].kind == NAME_ALLOCATOR && frames[j].module == frames[i].module
                       ? j
                       : i;
}

/* The same for frames[i..] with names, when what called them is an allocator and is called one: what it calls in turn is part
 * of it, as a program's own hook below luaM_realloc_. Containers are none: they call their elements' code. More than a few
 * frames are other work that it set off, such as a collector's finalizers. */
static size_t skip_inside(const struct name_look *frames, size_t i, size_t end) {
        size_t j = i;

        while (j < end && j - i <= FOLD_MAX_INSIDE && is_shown(&frames[j]))
                j++;
        if (j == end || j - i > FOLD_MAX_INSIDE || frames[j].kind != NAME_ALLOCATOR ||
            !frames[j].entry->says_allocator)
                return i;
        for (size_t k = i; k < j && j - i > 1; k++)
                if (frames[k].module != frames[j].module)
                        return i;
        return j;
}

/* The first frame that is shown: of the code that asked. */
static size_t find_asker(const struct name_look *frames, size_t end) {
        size_t i = 0, behind;

        while (i < end) {
                if (!is_shown(&frames[i]))
                        i++;
                else if ((behind = skip_helpers(frames, i, end)) > i ||
                         (behind = skip_inside(frames, i, end)) > i)
                        i = behind;
                else
                        break;
        }
        return i;
}

void name_fold_looks(struct names *n, const struct name_look *frames, size_t n_frames,
                     struct name_stack *ret) {
        bool *is_task = names_flags(n, n_frames);
        struct stack s = {frames, is_task};
        size_t begin, end;

        ret->n = 0;
        ret->via_idx = NAME_NO_FRAME;
        find_tasks(frames, n_frames, is_task);
        end = cut_start(frames, n_frames);
        begin = find_asker(frames, end);
        if (begin == end) /* nothing but library: then that is the answer */
                begin = 0;
        else if (begin > 0)
                ret->via_idx = (uint32_t)(begin - 1);
        show_range(ret, &s, begin, end);
        for (size_t i = 0; ret->n == 0 && i < n_frames; i++)
                show(ret, i, false);
}

void name_fold(struct names *n, const struct name_frame *frames, size_t n_frames,
               struct name_stack *ret) {
        VEC(struct name_look) looks = {0};

        for (size_t i = 0; i < n_frames; i++)
                vec_push(&looks, name_look(n, &frames[i]));
        name_fold_looks(n, looks.items, looks.n, ret);
        vec_free(&looks);
}

void name_stack_done(struct name_stack *s) {
        vec_free(s);
}
