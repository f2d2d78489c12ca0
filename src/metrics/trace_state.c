/* SPDX-License-Identifier: MIT */
#include "metrics/trace_state.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/macros.h"
#include "base/system_clock.h"

/* By its file's time, which is another clock's: for the first look only. */
static uint64_t file_age_ns(const char *path) {
        uint64_t now_ns = clock_ns(CLOCK_REALTIME), then_ns;
        struct stat st;

        if (stat(path, &st) < 0 || st.st_mtim.tv_sec < 0)
                return 0;
        then_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
        return now_ns - MIN(then_ns, now_ns);
}

double trace_state_age(struct trace_state *s, const char *path, uint64_t end_ns) {
        uint64_t now_ns = clock_now_ns();

        if (!s->changed_ns)
                s->changed_ns = now_ns - MIN(file_age_ns(path), now_ns - 1);
        else if (s->end_ns != end_ns)
                s->changed_ns = now_ns;
        s->end_ns = end_ns;
        return (double)(now_ns - s->changed_ns) / 1e9;
}

bool trace_state_room(const char *path, uint64_t *ret_bytes) {
        struct statvfs fs;

        if (statvfs(path, &fs) < 0 || !fs.f_blocks)
                return false;
        *ret_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
        return true;
}
