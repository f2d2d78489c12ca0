/* SPDX-License-Identifier: MIT */
#include "cli/graph_source.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/program_check.h"
#include "record/snapshot_client.h"
#include "record/unrecorded_trace.h"

bool cli_is_pid(const char *who) {
        return who[0] && !who[strspn(who, "0123456789")] && access(who, F_OK) != 0;
}

/* In a file without a name, which is gone when silt ends. */
static int take_unrecorded(pid_t pid, bool with_threads, const char **ret_path,
                           struct err *reterr) {
        static char path[64];
        int fd = memfd_create("graph", MFD_CLOEXEC), r;

        if (fd < 0)
                return err_set_errno(reterr, -errno, "cannot store the graph");
        r = unrecorded_trace_write(pid, fd, with_threads, reterr);
        if (r < 0) {
                close(fd);
                return r;
        }
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
        *ret_path = path;
        return 0;
}

int cli_take_recorded_graph(const char *who, const char **ret_path, struct err *reterr) {
        static struct snapshot_answer answer;
        int r = snapshot_client_take(who, NULL, true, &answer, reterr);

        if (r == -ESRCH && (kill((pid_t)strtol(who, NULL, 10), 0) == 0 || errno == EPERM))
                return 1;
        if (r < 0)
                return r;
        if (answer.text[0])
                return err_set(reterr, -EIO, "process %s: %s", who, answer.text);
        *ret_path = answer.path;
        return 0;
}

int cli_take_graph(const char *who, bool with_threads, const char **ret_path, struct err *reterr) {
        int r = cli_take_recorded_graph(who, ret_path, reterr);

        if (r != 1)
                return r;
        r = take_unrecorded((pid_t)strtol(who, NULL, 10), with_threads, ret_path, reterr);
        if (r < 0)
                program_explain_go((pid_t)strtol(who, NULL, 10), reterr);
        return r;
}
