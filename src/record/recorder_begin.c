/* SPDX-License-Identifier: MIT */
#include "record/recorder_begin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/system_clock.h"
#include "trace/writer.h"

void recorder_leave_terminal(const char *name) {
        struct rlimit files;
        int null_fd;

        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max; /* one descriptor per process that is followed */
                setrlimit(RLIMIT_NOFILE, &files);
        }
        setsid();
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGALRM, SIG_IGN); /* and what whoever signals all processes means for the others */
        signal(SIGUSR1, SIG_IGN);
        signal(SIGUSR2, SIG_IGN);
        null_fd = fs_open("/dev/null", O_RDWR, 0);
        for (int fd = 0; fd < 3 && null_fd >= 0; fd++)
                dup2(null_fd, fd);
        if (null_fd > 2)
                close(null_fd);
        prctl(PR_SET_NAME, name);
}

int recorder_open_writer_for(const struct recorder_config *config, struct trace_writer **ret,
                             int *ret_fd, struct err *reterr) {
        const struct run_options *o = config->options;
        struct trace_meta meta = {0};
        struct utsname host = {0};
        char cwd[4096] = "";
        int fd = fcntl(config->trace_fd, F_DUPFD_CLOEXEC, 3), r;

        uname(&host);
        meta.pid = (uint32_t)config->target;
#if defined(__aarch64__)
        meta.machine = 183; /* EM_AARCH64 */
#else
        meta.machine = 62; /* EM_X86_64 */
#endif
        meta.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
        meta.started_unix_ns = clock_ns(CLOCK_REALTIME);
        meta.flags = (o->addresses ? TRACE_HAS_ADDRESSES : 0) |
                     (o->free_stacks ? TRACE_HAS_FREE_STACKS : 0) |
                     (o->sample_bytes ? TRACE_IS_SAMPLED : 0);
        meta.sample_bytes = o->sample_bytes;
        meta.silt_version = o->silt_version;
        meta.host = host.nodename;
        meta.cwd = getcwd(cwd, sizeof(cwd)) ? cwd : "";
        meta.args = (const char *const *)o->argv;
        while (o->argv[meta.n_args])
                meta.n_args++;
        r = trace_writer_open(fd, &meta, ret, reterr);
        if (r < 0)
                return r;
        *ret_fd = fd;
        if (o->max_trace_bytes)
                trace_writer_bound(*ret, o->max_trace_bytes);
        close(config->trace_fd); /* a bounded trace changes its file: the old one must go */
        return 0;
}

/* The file at the trace's path is still the one that was written. */
static bool trace_is_there(const struct recorder_config *config, int fd) {
        struct stat own, named;

        return fstat(fd, &own) == 0 && lstat(config->trace_path, &named) == 0 &&
               own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

void recorder_close_writer(const struct recorder_config *config, struct trace_writer *w, int fd,
                           char *ret_trouble, size_t cap) {
        const struct run_options *o = config->options;
        struct err e = {0};
        int code = trace_writer_finish(w, &e);

        if (!trace_is_there(config, fd))
                code = err_set(
                        &e, -ENOENT,
                        "'%s' was deleted or moved during the recording: there is nothing to report",
                        config->trace_path);
        else if (code == 0 && o->symbolize && !o->no_symbols)
                code = o->symbolize(config->trace_path, &e);
        if (code < 0)
                snprintf(ret_trouble, cap, "%.230s", e.text);
}
