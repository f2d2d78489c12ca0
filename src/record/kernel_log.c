/* SPDX-License-Identifier: MIT */
#include "record/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

/* Reads of one recording: a log that is written faster than it is read would never end. */
enum { KERNEL_LOG_MAX_READS = 1 << 20 };

void kernel_log_open(struct kernel_log *l, const char *path) {
        l->n_read = l->n_rest = 0;
        l->fd = fs_open(path, O_RDONLY, 0); /* does not block */
        if (l->fd >= 0)
                (void)lseek(l->fd, 0, SEEK_END);
        else
                l->fd = -1;
}

void kernel_log_close(struct kernel_log *l) {
        if (l->fd >= 0)
                close(l->fd);
        l->fd = -1;
}

/* One record as it stands in /dev/kmsg: "6,1234,987654,-;text". False: it is no first line of one. */
static bool text_of(const char *record, char ret[KERNEL_LOG_LINE_BYTES]) {
        const char *text = strchr(record, ';');
        size_t n;

        if (record[0] < '0' || record[0] > '9' || !text)
                return false;
        text++;
        n = MIN(strcspn(text, "\n"), (size_t)KERNEL_LOG_LINE_BYTES - 1);
        for (size_t i = 0; i < n; i++)
                ret[i] = (char)((unsigned char)text[i] < 32 || text[i] == 127 ? '?' : text[i]);
        ret[n] = 0;
        return true;
}

/* A read of the device gives one record. One that was overwritten before it was read is an error, and the next read goes on behind it. */
static bool read_more(struct kernel_log *l) {
        ssize_t n;

        do {
                if (l->n_read++ >= KERNEL_LOG_MAX_READS)
                        return false;
                n = fs_read_some(l->fd, l->rest + l->n_rest, sizeof(l->rest) - 1 - l->n_rest);
        } while (n == -EPIPE);
        if (n <= 0)
                return false;
        l->n_rest += (size_t)n;
        return true;
}

static bool take_line(struct kernel_log *l, char *line) {
        char *end = memchr(l->rest, '\n', l->n_rest);
        size_t n;
        bool is_record;

        if (!end && l->n_rest < sizeof(l->rest) - 1)
                return false;
        if (!end) /* longer than any that means something */
                end = l->rest + l->n_rest - 1;
        *end = 0;
        is_record = text_of(l->rest, line);
        if (!is_record)
                line[0] = 0;
        n = (size_t)(end - l->rest) + 1;
        l->n_rest -= n;
        memmove(l->rest, l->rest + n, l->n_rest);
        return true;
}

bool kernel_log_next(struct kernel_log *l, char line[KERNEL_LOG_LINE_BYTES]) {
        if (l->fd < 0)
                return false;
        for (;;) {
                while (take_line(l, line))
                        if (line[0])
                                return true;
                if (!read_more(l))
                        return false;
        }
}
