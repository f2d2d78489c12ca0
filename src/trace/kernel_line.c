/* SPDX-License-Identifier: MIT */
#include "trace/kernel_line.h"

#include <stdlib.h>
#include <string.h>

static bool take_pid(const char *at, uint32_t *ret) {
        unsigned long n;

        if (*at < '0' || *at > '9')
                return false;
        n = strtoul(at, NULL, 10);
        *ret = (uint32_t)n;
        return n > 0 && n <= INT32_MAX;
}

/* The last of them: before it stands a name that may hold the same. */
static const char *find_last(const char *text, const char *what) {
        const char *last = NULL;

        for (const char *at = text; (at = strstr(at, what)); at++)
                last = at;
        return last;
}

static bool parse_reason(const char *line, struct kernel_line *l) {
        const char *pid = find_last(line, ",pid="), *group, *end;

        if (!pid || !take_pid(pid + strlen(",pid="), &l->pid))
                return false;
        l->kind = KERNEL_REASON;
        l->is_group = strncmp(line, "oom-kill:constraint=CONSTRAINT_MEMCG,",
                              strlen("oom-kill:constraint=CONSTRAINT_MEMCG,")) == 0;
        group = strstr(line, ",oom_memcg=");
        end = group ? strstr(group, ",task_memcg=") : NULL;
        group = group ? group + strlen(",oom_memcg=") : NULL;
        if (end && (size_t)(end - group) < sizeof(l->full_group)) {
                memcpy(l->full_group, group, (size_t)(end - group));
                l->full_group[end - group] = 0;
        }
        return true;
}

bool kernel_line_parse(const char *line, struct kernel_line *ret) {
        static const char killed[] = "Killed process ";
        struct kernel_line l = {.kind = KERNEL_KILLED};
        const char *at;

        if (strncmp(line, "oom-kill:", strlen("oom-kill:")) == 0) {
                if (!parse_reason(line, &l))
                        return false;
                *ret = l;
                return true;
        }
        /* "Out of memory: …", "Out of memory (oom_kill_allocating_task): …" */
        l.is_group = strncmp(line, "Memory cgroup out of memory", 27) == 0;
        if (!l.is_group && strncmp(line, "Out of memory", 13) != 0)
                return false;
        at = strstr(line, killed);
        if (!at || !take_pid(at + strlen(killed), &l.pid))
                return false;
        *ret = l;
        return true;
}

const char *kernel_line_of_note(const char *note) {
        return strncmp(note, KERNEL_NOTE, strlen(KERNEL_NOTE)) == 0 ? note + strlen(KERNEL_NOTE)
                                                                    : NULL;
}
