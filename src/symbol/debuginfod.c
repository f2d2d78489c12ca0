/* SPDX-License-Identifier: MIT */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/system_clock.h"

/* libdebuginfod brings libcurl and all that: it is loaded when it is needed, and by the name its
 * interface is versioned with. */
#define LIBRARY "libdebuginfod.so.1"

struct client;
typedef int (*progress_fn)(struct client *c, long a, long b);

static struct {
        struct client *(*begin)(void);
        void (*end)(struct client *c);
        int (*find_debuginfo)(struct client *c, const unsigned char *id, int id_len, char **ret);
        void (*set_progress)(struct client *c, progress_fn fn);
        struct client *client;
        bool is_loaded;
} library;

static uint64_t spent_ns; /* by questions that have ended */
static const char *trouble;

/* The question being asked. */
static struct {
        uint64_t begin_ns, heard_ns; /* when the last bytes came */
        long n_calls, n_bytes;
        bool was_stopped;
} question;

/* Called at least once a second. While no server has begun to answer `a` counts the calls, then the
 * bytes; the size is not always known. */
static int progress(struct client *c, long a, long size_bytes) {
        uint64_t now = clock_now_ns();

        (void)c;
        question.n_calls++;
        if ((size_bytes > 0 || a > question.n_calls + 1024) && a != question.n_bytes) {
                question.n_bytes = a;
                question.heard_ns = now;
        }
        if (now - question.heard_ns > DEBUGINFOD_SILENCE_NS)
                trouble =
                        "the server in DEBUGINFOD_URLS sent nothing for 8 s, so silt stopped asking: check it and run silt symbolize";
        else if (spent_ns + (now - question.begin_ns) > DEBUGINFOD_TOTAL_NS)
                trouble =
                        "downloading from DEBUGINFOD_URLS took more than 45 s and was stopped: run silt symbolize to continue";
        else
                return 0;
        question.was_stopped = true;
        return 1;
}

/* ---- no false memory ------------------------------------------------------------------------- */

/* Where libdebuginfod keeps its files. */
static void cache_dir(char *ret, size_t cap) {
        const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");
        const char *home = getenv("HOME") ? getenv("HOME") : "/";
        struct stat st;

        if (own && own[0]) {
                snprintf(ret, cap, "%s", own);
                return;
        }
        snprintf(ret, cap, "%s/.debuginfod_client_cache", home); /* of old versions */
        if (stat(ret, &st) == 0)
                return;
        if (xdg && xdg[0])
                snprintf(ret, cap, "%s/debuginfod_client", xdg);
        else
                snprintf(ret, cap, "%s/.cache/debuginfod_client", home);
}

/* libdebuginfod notes a question that was broken off as one that was answered with no, as an empty
 * file, and would not ask again for ten minutes: neither for silt nor for a debugger. */
static void forget_answer(const uint8_t *build_id, size_t n, const struct timespec *asked_at) {
        char path[4096 + 160];
        struct stat st;
        size_t len;

        cache_dir(path, 4096);
        len = strlen(path);
        path[len++] = '/';
        for (size_t i = 0; i < n && i < 64; i++)
                len += (size_t)snprintf(path + len, sizeof(path) - len, "%02x", build_id[i]);
        snprintf(path + len, sizeof(path) - len, "/debuginfo");
        if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
            st.st_mtim.tv_sec >= asked_at->tv_sec - 1)
                unlink(path);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool load(void) {
        void *so;

        if (library.is_loaded)
                return library.client;
        library.is_loaded = true;
        so = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
        if (so) {
                *(void **)&library.begin = dlsym(so, "debuginfod_begin");
                *(void **)&library.end = dlsym(so, "debuginfod_end");
                *(void **)&library.find_debuginfo = dlsym(so, "debuginfod_find_debuginfo");
                *(void **)&library.set_progress = dlsym(so, "debuginfod_set_progressfn");
        }
        if (library.begin && library.end && library.find_debuginfo && library.set_progress)
                library.client = library.begin();
        if (!library.client) {
                trouble = "DEBUGINFOD_URLS is set but " LIBRARY
                          " cannot be loaded: install libdebuginfod1";
                return false;
        }
        library.set_progress(library.client, progress);
        return true;
}

int debuginfod_fetch(const uint8_t *build_id, size_t build_id_len, char **ret_path) {
        const char *urls = getenv("DEBUGINFOD_URLS");
        struct timespec asked_at;
        int fd;

        if (!urls || !urls[0] || build_id_len == 0 || trouble || !load())
                return -ENOSYS;
        clock_gettime(CLOCK_REALTIME, &asked_at);
        memset(&question, 0, sizeof(question));
        question.begin_ns = question.heard_ns = clock_now_ns();
        fd = library.find_debuginfo(library.client, build_id, (int)build_id_len, ret_path);
        spent_ns += clock_now_ns() - question.begin_ns;
        if (question.was_stopped)
                forget_answer(build_id, build_id_len, &asked_at);
        if (fd >= 0 || question.was_stopped)
                return fd;
        switch (-fd) {
        case ENOENT: break; /* it knows no such file */
        case ECONNREFUSED:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case ECONNRESET:
        case ETIME:
                trouble =
                        "cannot reach the server in DEBUGINFOD_URLS: check it and run silt symbolize";
                break;
        case ENOSYS:
                trouble =
                        "DEBUGINFOD_URLS contains no usable address: set it to one such as https://debuginfod.debian.net";
                break;
        default: break;
        }
        return fd;
}

const char *debuginfod_trouble(void) {
        return trouble;
}
