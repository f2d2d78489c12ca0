/* SPDX-License-Identifier: MIT */
#include "symbol/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "base/macros.h"
#include "symbol/addresses.h"

enum {
        PERFMAP_BUFFER_BYTES = 1 << 16,
        PERFMAP_MAX_NAMED = 1 << 24, /* addresses named, each time it happens */
        PERFMAP_MAX_NAMES_BYTES = 64 << 20,
        PERFMAP_SLACK_NS = 2 * 1000000000, /* clocks of file systems are coarse */
};

/* ---- which file ------------------------------------------------------------------------------ */

/* Field 22 of /proc/PID/stat, behind a name that may hold anything; 0 unknown. */
static uint64_t start_of_process_unix_ns(uint32_t pid) {
        char path[64], text[1024];
        const char *p;
        unsigned long long ticks;
        struct timespec now, up;

        snprintf(path, sizeof(path), "/proc/%u/stat", pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0 || !(p = strrchr(text, ')')))
                return 0;
        for (int field = 2; field < 22; field++) {
                p = strchr(p, ' ');
                if (!p++)
                        return 0;
        }
        if (sscanf(p, "%llu", &ticks) != 1)
                return 0;
        clock_gettime(CLOCK_REALTIME, &now);
        clock_gettime(CLOCK_BOOTTIME, &up);
        return ((uint64_t)now.tv_sec - (uint64_t)up.tv_sec) * 1000000000ull +
               ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The pid that the process itself sees: the last number of its NSpid line. */
static uint32_t pid_inside(uint32_t pid) {
        char path[64], text[4096];
        const char *p;
        unsigned inside = pid;
        int n;

        snprintf(path, sizeof(path), "/proc/%u/status", pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0 || !(p = strstr(text, "\nNSpid:")))
                return pid;
        for (p += strlen("\nNSpid:"); sscanf(p, "\t%u%n", &inside, &n) == 1; p += n)
                ;
        return inside;
}

/* Root, who runs silt, who asked for that with sudo, and who runs the process as far as it lives. */
static bool is_trusted(uid_t uid, uint32_t pid) {
        const char *sudo = getenv("SUDO_UID");
        char path[64];
        struct stat st;

        if (uid == 0 || uid == geteuid() || uid == getuid())
                return true;
        if (sudo && geteuid() == 0 && strtoul(sudo, NULL, 10) == uid)
                return true;
        snprintf(path, sizeof(path), "/proc/%u", pid);
        return stat(path, &st) == 0 && st.st_uid == uid;
}

static int check(int fd, uint32_t pid, uint64_t since_unix_ns) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if (!is_trusted(st.st_uid, pid))
                return -EPERM;
        if ((uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec +
                    PERFMAP_SLACK_NS <
            since_unix_ns)
                return -ESTALE;
        return 0;
}

static int try_open(const char *path, uint32_t pid, uint64_t since_unix_ns) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY | O_NOFOLLOW, 0);
        int r;

        if (fd < 0)
                return fd == -ELOOP ? -EINVAL : fd;
        r = check(fd, pid, since_unix_ns);
        return r < 0 ? r : TAKE_FD(fd);
}

int perfmap_open(uint32_t pid, uint64_t since_unix_ns) {
        uint64_t began_unix_ns = start_of_process_unix_ns(pid);
        char path[96];
        int fd;

        /* A recording may have begun long after the process did. */
        if (began_unix_ns && began_unix_ns < since_unix_ns)
                since_unix_ns = began_unix_ns;
        snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, pid_inside(pid));
        fd = try_open(path, pid, since_unix_ns);
        if (fd >= 0)
                return fd;
        snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
        return try_open(path, pid, since_unix_ns);
}

/* ---- what it says ---------------------------------------------------------------------------- */

struct reading {
        const uint64_t *addresses;
        size_t n;
        struct arena *arena;
        const char **names;
        size_t n_named, n_names_bytes;
};

/* A hexadecimal number and the blanks behind it. */
static bool read_hex(const char **p, uint64_t *ret) {
        const char *begin = *p;
        char *end;

        errno = 0;
        *ret = strtoull(begin, &end, 16);
        if (end == begin || errno || *begin == '-' || *begin == '+' ||
            (*end != ' ' && *end != '\t'))
                return false;
        *p = end + strspn(end, " \t");
        return true;
}

static bool read_line(struct reading *r, const char *line) {
        uint64_t begin, size;
        size_t i, n;
        char *name = NULL;

        if (!read_hex(&line, &begin) || !read_hex(&line, &size) || !*line)
                return true; /* a line of another kind */
        for (i = addresses_first_from(r->addresses, r->n, begin);
             i < r->n && r->addresses[i] - begin < size; i++) {
                if (!name) {
                        n = strnlen(line, PERFMAP_MAX_NAME);
                        r->n_names_bytes += n;
                        name = arena_strndup(r->arena, line, n);
                        for (char *c = name; *c; c++)
                                if ((unsigned char)*c < ' ' || *c == 0x7f)
                                        *c = '?';
                }
                r->names[i] = name;
                r->n_named++;
        }
        return r->n_named <= PERFMAP_MAX_NAMED && r->n_names_bytes <= PERFMAP_MAX_NAMES_BYTES;
}

/* Whole lines of the buffer; the rest of it moves to the front. A line that is longer than the buffer
 * is cut. */
static bool read_lines(struct reading *r, char *buffer, size_t *n) {
        char *line = buffer, *end = buffer + *n, *newline;

        while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
                *newline = '\0';
                if (!read_line(r, line))
                        return false;
                line = newline + 1;
        }
        *n = (size_t)(end - line);
        if (*n == PERFMAP_BUFFER_BYTES) {
                buffer[*n] = '\0';
                *n = 0;
                return read_line(r, buffer);
        }
        memmove(buffer, line, *n);
        return true;
}

int perfmap_name(int fd, const uint64_t *addresses, size_t n, struct arena *arena,
                 const char **ret_names) {
        static char buffer[PERFMAP_BUFFER_BYTES + 1];
        struct reading r = {.addresses = addresses, .n = n, .arena = arena, .names = ret_names};
        size_t have = 0, total = 0;
        ssize_t got;

        while ((got = fs_read_some(fd, buffer + have, PERFMAP_BUFFER_BYTES - have)) > 0) {
                have += (size_t)got;
                total += (size_t)got;
                if (!read_lines(&r, buffer, &have) || total > PERFMAP_MAX_BYTES)
                        return -E2BIG;
        }
        /* A last line without its end is one that was still being written. */
        return got < 0 ? (int)got : 0;
}
