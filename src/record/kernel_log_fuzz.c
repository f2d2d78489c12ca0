/* SPDX-License-Identifier: MIT */
/* Any bytes as the kernel's log: lines without anything that moves a terminal, each read once; one that tells of a kill names a process.
 *
 * covers: src/record/kernel_log.c src/trace/kernel_line.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "record/kernel_log.h"
#include "trace/kernel_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static void check(const char *line) {
        char note[KERNEL_LOG_LINE_BYTES + 16];
        struct kernel_line l;

        expect(line[0] && strlen(line) < KERNEL_LOG_LINE_BYTES);
        for (const char *at = line; *at; at++)
                expect((unsigned char)*at >= 32 && *at != 127);
        snprintf(note, sizeof(note), KERNEL_NOTE "%s", line);
        expect(strcmp(kernel_line_of_note(note), line) == 0);
        if (kernel_line_parse(line, &l))
                expect(l.pid > 0 && l.pid <= INT32_MAX &&
                       strlen(l.full_group) < KERNEL_PATH_BYTES &&
                       strstr(line, l.full_group) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        int fd = memfd_create("log", MFD_CLOEXEC);
        char path[64], line[KERNEL_LOG_LINE_BYTES];
        struct kernel_log log;
        size_t n_lines = 0;

        expect(fd >= 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        kernel_log_open(&log, path);
        expect(log.fd >= 0 && fs_write_all(fd, data, n) == 0);
        while (kernel_log_next(&log, line)) {
                check(line);
                expect(++n_lines <= n);
        }
        kernel_log_close(&log);
        close(fd);
        return 0;
}
