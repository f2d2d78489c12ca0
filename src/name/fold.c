/* SPDX-License-Identifier: MIT */
/* Stacks as people want to see them. */
#include <string.h>

#include "base/vec.h"
#include "name/internal.h"

/* What is asked about a frame more than once. */
struct frame {
        const struct name_entry *name;
        enum name_kind kind;
        bool is_task;
};

static struct frame frame_look(struct names *n, const struct name_frame *f) {
        struct frame x = {.name = names_entry(n, f->guess ? "" : f->function)};

        x.kind = name_frame_kind(n, f);
        return x;
}

/* A closure is an async function's body when a poll, or another such body, calls it. */
static void find_tasks(struct frame *frames, size_t n) {
        for (size_t i = n; i > 1; i--) {
                const struct frame *caller = &frames[i - 1];
                struct frame *f = &frames[i - 2];

                f->is_task = f->kind == NAME_TASK && (caller->is_task || caller->name->is_driver);
        }
}

static bool is_shown(const struct frame *f) {
        return f->kind == NAME_PLAIN || f->kind == NAME_TASK;
}

static bool is_named(const struct frame *f, const char *plain) {
        return strcmp(f->name->plain, plain) == 0;
}

static bool is_start(const struct frame *frames, size_t i) {
        /* Rust's own main calls its starter */
        return frames[i].kind == NAME_START ||
               (i > 0 && frames[i - 1].kind == NAME_START && is_named(&frames[i], "main"));
}

/* How many of the n frames are left when those at the outer end go that only start programs and
 * threads, and library code among them; when nothing would be left, only the former. */
static size_t cut_start(const struct frame *frames, size_t n) {
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
static bool is_same_task(const struct frame *a, const struct frame *b) {
        const char *x = strstr(a->name->plain, "::{closure}");
        const char *y = strstr(b->name->plain, "::{closure}");

        return a->is_task && b->is_task && x && y && x - a->name->plain == y - b->name->plain &&
               memcmp(a->name->plain, b->name->plain, (size_t)(x - a->name->plain)) == 0;
}

/* Of a library's frames in a row only the outermost is of interest: what the program called. */
static bool is_inside_library(const struct frame *frames, size_t i, size_t end) {
        if (frames[i].kind != NAME_ALLOCATOR)
                return false;
        for (i++; i < end && frames[i].kind == NAME_MACHINERY;)
                i++;
        return i < end && frames[i].kind == NAME_ALLOCATOR;
}

static void show_range(struct name_stack *s, const struct frame *frames, size_t begin, size_t end) {
        const struct frame *last = NULL;

        for (size_t i = begin; i < end; i++) {
                if (frames[i].kind == NAME_MACHINERY || is_inside_library(frames, i, end))
                        continue;
                if (!last || !is_same_task(last, &frames[i]))
                        show(s, i, frames[i].is_task);
                last = &frames[i];
        }
}

void name_fold(struct names *n, const struct name_frame *frames, size_t n_frames,
               struct name_stack *ret) {
        VEC(struct frame) x = {0};
        size_t begin = 0, end;

        ret->n = 0;
        ret->via_idx = NAME_NO_FRAME;
        for (size_t i = 0; i < n_frames; i++)
                vec_push(&x, frame_look(n, &frames[i]));
        find_tasks(x.items, x.n);
        end = cut_start(x.items, x.n);
        while (begin < end && !is_shown(&x.items[begin]))
                begin++;
        if (begin == end) /* nothing but library: then that is the answer */
                begin = 0;
        else if (begin > 0)
                ret->via_idx = (uint32_t)(begin - 1);
        show_range(ret, x.items, begin, end);
        for (size_t i = 0; ret->n == 0 && i < n_frames; i++)
                show(ret, i, false);
        vec_free(&x);
}

void name_stack_done(struct name_stack *s) {
        vec_free(s);
}
