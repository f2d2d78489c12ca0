/* SPDX-License-Identifier: MIT */
#include "resident/thread_stacks.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

/* "0 0x3 … 0x7ffff11edc98 0x7f861bda92ad": number and arguments of the system call, stack pointer, program counter; "running"; "-1 sp pc" outside of a call. */
static uint64_t sp_of(const char *text) {
        const char *last = strrchr(text, ' '), *at;

        if (!last || last == text)
                return 0;
        for (at = last - 1; at > text && *at != ' '; at--)
                ;
        return *at == ' ' ? strtoull(at + 1, NULL, 16) : 0;
}

static int by_sp(const void *a, const void *b) {
        const struct thread_stack *x = a, *y = b;

        return x->sp < y->sp ? -1 : x->sp > y->sp;
}

/* "Max stack size             8388608              unlimited            bytes" */
static uint64_t default_bytes(const char *proc_root, pid_t pid) {
        static const char row[] = "Max stack size";
        char path[320], text[4096];
        const char *at;

        snprintf(path, sizeof(path), "%s/%d/limits", proc_root, (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0 || !(at = strstr(text, row)))
                return 0;
        return strtoull(at + sizeof(row) - 1, NULL, 10); /* "unlimited": 0 */
}

void thread_stacks_read(struct thread_stacks *s, const char *proc_root, pid_t pid) {
        char path[640], text[512];
        struct dirent *d;
        DIR *dir;

        *s = (struct thread_stacks){.stack_bytes = default_bytes(proc_root, pid)};
        snprintf(path, sizeof(path), "%s/%d/task", proc_root, (int)pid);
        dir = opendir(path);
        while (dir && (d = readdir(dir)) && s->list.n < THREAD_STACKS_MAX) {
                struct thread_stack one = {.tid = (uint32_t)strtoul(d->d_name, NULL, 10)};

                if (!one.tid)
                        continue;
                snprintf(path, sizeof(path), "%s/%d/task/%u/syscall", proc_root, (int)pid, one.tid);
                if (fs_read_text(path, text, sizeof(text)) > 0)
                        one.sp = sp_of(text);
                vec_push(&s->list, one);
        }
        if (dir)
                closedir(dir);
        if (s->list.n)
                qsort(s->list.items, s->list.n, sizeof(s->list.items[0]), by_sp);
}

void thread_stacks_done(struct thread_stacks *s) {
        vec_free(&s->list);
}

const struct thread_stack *thread_stacks_in(const struct thread_stacks *s, uint64_t begin,
                                            uint64_t end) {
        size_t low = 0, high = s->list.n;

        while (low < high) {
                size_t mid = (low + high) / 2;

                if (s->list.items[mid].sp < begin)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < s->list.n && s->list.items[low].sp < end && s->list.items[low].sp
                       ? &s->list.items[low]
                       : NULL;
}
