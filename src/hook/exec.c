/* SPDX-License-Identifier: MIT */
/* exec and spawn: an environment that lost what carries the runtime on gets it back; where the
 * runtime cannot go, or must not, the new image is not told of it. Everything is built on the stack,
 * because the caller may be a vfork child, whose heap is its parent's. */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <unistd.h>

#include "hook/call.h"
#include "hook/event.h"
#include "hook/exec_file.h"
#include "hook/exec_parent.h"
#include "wire/hello.h"

extern char **environ;

#define EXEC_PRELOAD "LD_PRELOAD"

enum { EXEC_ENTRIES_MAX = 4096, EXEC_TEXT_MAX = 16384, EXEC_ARGS_MAX = 4096 };

/* What a changed environment needs on the stack; 0 bytes: nothing has to change. */
struct exec_plan {
        size_t n_entries;
        size_t n_bytes;
        size_t stripped_bytes; /* for one that tells nothing of silt; 0: it tells nothing as it is */
        const char *preload;   /* the value given, or NULL */
        bool has_rendezvous;
        bool strips; /* the new image is not to know of silt */
        enum wire_unseen unseen;
        const char *path; /* of a program that is not seen */
        long n_path;
};

static size_t exec_length(const char *text) {
        size_t n = 0;

        while (text[n])
                n++;
        return n;
}

/* How many bytes of `list` are path, as an entry of its own that begins there; 0: it is another entry. */
static size_t exec_match(const char *list, const char *path) {
        size_t i = 0;

        while (path[i] && list[i] == path[i])
                i++;
        return !path[i] && (!list[i] || list[i] == ':' || list[i] == ' ') ? i : 0;
}

static bool exec_contains(const char *list, const char *path) {
        for (bool is_begin = true; *list; list++) {
                if (is_begin && exec_match(list, path))
                        return true;
                is_begin = *list == ':' || *list == ' ';
        }
        return false;
}

/* ---- the environment --------------------------------------------------------------------- */

/* False: it cannot be read, which is for the kernel to say, or is too large for a stack we do not know. */
static bool exec_plan_read(struct exec_plan *p, char *const envp[], struct readable *readable) {
        for (;; p->n_entries++) {
                const char *value;

                if (p->n_entries > EXEC_ENTRIES_MAX || !readable_has(readable, &envp[p->n_entries]))
                        return false;
                if (!envp[p->n_entries])
                        return true;
                value = exec_value(readable, envp[p->n_entries], EXEC_PRELOAD);
                if (value && !p->preload) {
                        if (readable_length(readable, value, EXEC_TEXT_MAX / 2) < 0)
                                return false;
                        p->preload = value;
                }
                if (exec_value(readable, envp[p->n_entries], WIRE_ENV))
                        p->has_rendezvous = true;
        }
}

static void exec_plan_make(struct exec_plan *p, char *const envp[], const struct exec_file *file) {
        bool records = runtime_is_recording() && runtime.rendezvous, is_preloaded;
        size_t list_bytes;
        struct readable readable = {0};

        *p = (struct exec_plan){0};
        if (!runtime.self_path || (!records && runtime_phase() != RUNTIME_PASSING))
                return;
        if (envp && !exec_plan_read(p, envp, &readable)) {
                *p = (struct exec_plan){0};
                return;
        }
        is_preloaded = p->preload && exec_contains(p->preload, runtime.self_path);
        list_bytes = (p->n_entries + 3) * sizeof(char *) + sizeof(EXEC_PRELOAD) +
                     (p->preload ? exec_length(p->preload) : 0) + 8;
        if (p->has_rendezvous || is_preloaded)
                p->stripped_bytes = list_bytes;
        if (!records && !p->stripped_bytes)
                return;
        p->strips = exec_file_must_strip(file, &readable, &p->unseen);
        if (p->unseen && records) {
                p->path = file->path;
                p->n_path = readable_length(&readable, file->path, EXEC_TEXT_MAX);
        } else {
                p->unseen = WIRE_UNSEEN_NONE;
        }
        if (p->strips) {
                p->n_bytes = p->stripped_bytes;
                p->stripped_bytes = 0;
        } else if (records && !(p->has_rendezvous && is_preloaded)) {
                p->n_bytes = list_bytes + exec_length(runtime.self_path) + sizeof(WIRE_ENV) +
                             exec_length(runtime.rendezvous) + 8;
                p->stripped_bytes = list_bytes;
        }
}

/* list without path and the separator behind it. */
static char *exec_append_without(char *to, const char *list, const char *path) {
        bool is_begin = true;

        while (*list) {
                size_t n = is_begin ? exec_match(list, path) : 0;

                if (n) {
                        list += n;
                        list += *list != '\0';
                } else {
                        is_begin = *list == ':' || *list == ' ';
                        *to++ = *list++;
                }
        }
        *to = '\0';
        return to;
}

static char *exec_append(char *to, const char *text) {
        while (*text)
                *to++ = *text++;
        *to = '\0';
        return to;
}

/* The user's own LD_PRELOAD stays. */
static char **exec_plan_build_stripped(const struct exec_plan *p, char *const envp[], void *space) {
        char **entries = space, *text = (char *)(entries + p->n_entries + 3), *preload = text;
        struct readable readable = {0};
        size_t n = 0;

        if (p->preload) {
                text = exec_append(text, EXEC_PRELOAD "=");
                if (exec_append_without(text, p->preload, runtime.self_path) != text)
                        entries[n++] = preload;
        }
        for (size_t i = 0; i < p->n_entries; i++)
                if (!exec_value(&readable, envp[i], EXEC_PRELOAD) &&
                    !exec_value(&readable, envp[i], WIRE_ENV))
                        entries[n++] = envp[i];
        entries[n] = NULL;
        return entries;
}

/* space: p->n_bytes of stack. */
static char **exec_plan_build(const struct exec_plan *p, char *const envp[], void *space) {
        char **entries = space, *text = (char *)(entries + p->n_entries + 3), *preload = text;
        struct readable readable = {0};
        size_t n = 0;

        if (p->strips)
                return exec_plan_build_stripped(p, envp, space);
        text = exec_append(text, EXEC_PRELOAD "=");
        text = exec_append(text, runtime.self_path);
        if (p->preload && p->preload[0]) {
                text = exec_append(text, ":");
                text = exec_append(text, p->preload);
        }
        text++;
        entries[n++] = preload;
        if (!p->has_rendezvous) {
                entries[n++] = text;
                exec_append(exec_append(text, WIRE_ENV "="), runtime.rendezvous);
        }
        for (size_t i = 0; i < p->n_entries; i++)
                if (!exec_value(&readable, envp[i], EXEC_PRELOAD))
                        entries[n++] = envp[i];
        entries[n] = NULL;
        return entries;
}

/* The environment to use, in the caller's frame. */
#define EXEC_ENVIRONMENT(plan, envp, ...)                                                          \
        ({                                                                                         \
                const struct exec_file file_ = {__VA_ARGS__};                                      \
                                                                                                   \
                exec_plan_make(plan, envp, &file_);                                                \
                (plan)->n_bytes ? exec_plan_build(plan, envp, alloca((plan)->n_bytes))             \
                                : (char **)(envp);                                                 \
        })

/* The call `again` with an environment that tells nothing of silt, where `r` says that arguments and environment were too
 * large: without silt they may not be. */
#define EXEC_SMALLER(plan, envp, env, is_too_large, r, again)                                      \
        ({                                                                                         \
                __typeof__(r) r_ = (r);                                                            \
                                                                                                   \
                if ((is_too_large) && (plan)->stripped_bytes) {                                    \
                        (env) = exec_plan_build_stripped(plan, envp,                               \
                                                         alloca((plan)->stripped_bytes));          \
                        r_ = (again);                                                              \
                }                                                                                  \
                r_;                                                                                \
        })

/* A program that nothing will be seen of: that is told, of a vfork child through its parent's ring. Long paths by their end. */
static void exec_tell_unseen(const struct exec_plan *p, int pid, unsigned flags) {
        uint64_t words[2 + WIRE_MAX_MARK / 8];
        uint32_t n = p->n_path > WIRE_MAX_MARK ? WIRE_MAX_MARK
                     : p->n_path > 0           ? (uint32_t)p->n_path
                                               : 0;
        uint32_t n_words = 2 + (n + 7) / 8;
        struct thread *t = thread_get();

        if (!t)
                return;
        words[n_words - 1] = 0;
        words[0] = (uint32_t)pid | (uint64_t)(p->unseen | flags) << 32;
        words[1] = n;
        for (uint32_t i = 0; i < n; i++)
                ((char *)(words + 2))[i] = p->path[p->n_path - n + i];
        event_words(t, WIRE_UNSEEN, words, n_words);
}

/* A vfork child shares the parent's ring, but it is not the parent that goes. Nor need the parent wait, if it was made by clone with
 * CLONE_VM alone: then its ring is not for the child to write to. */
static struct thread *exec_log_begin(struct exec_plan *p) {
        const uint64_t about_to = 1;
        struct thread *t = thread_get();
        bool is_child = sys_getpid() != (int)runtime.pid;

        if (p->unseen && t && is_child && (t->lane.inside || !exec_parent_waits(t->tid))) {
                p->unseen = WIRE_UNSEEN_NONE;
                runtime_mark_unfollowed(WIRE_UNFOLLOWED_CHILDREN);
        }
        if (p->unseen)
                exec_tell_unseen(p, sys_getpid(), 0);
        if (!t || is_child)
                return NULL;
        event_words(t, WIRE_EXEC, &about_to, 1);
        return t;
}

/* The call returned, so it failed. Keeps errno: nothing here touches it. */
static int exec_log_failed(const struct exec_plan *p, struct thread *t, int r) {
        const uint64_t failed = 0;

        if (p->unseen)
                exec_tell_unseen(p, sys_getpid(), WIRE_UNSEEN_NOT);
        if (t)
                event_words(t, WIRE_EXEC, &failed, 1);
        return r;
}

static int exec_missing(void) {
        errno = ENOSYS;
        return -1;
}

/* Calls `call` with env, and where that is too large once more without silt. */
#define EXEC_CALL(plan, envp, env, call)                                                           \
        ({                                                                                         \
                struct thread *t_ = exec_log_begin(plan);                                          \
                int result_ = (call);                                                              \
                                                                                                   \
                exec_log_failed(plan, t_,                                                          \
                                EXEC_SMALLER(plan, envp, env, result_ < 0 && errno == E2BIG,       \
                                             result_, call));                                      \
        })

static int exec_run(const char *path, char *const argv[], char *const envp[]) {
        struct exec_plan plan;
        char *const *env = EXEC_ENVIRONMENT(&plan, envp, AT_FDCWD, path);

        return EXEC_CALL(&plan, envp, env,
                         real.execve.fn ? REAL(execve)(path, argv, env) : exec_missing());
}

static int exec_search(const char *file, char *const argv[], char *const envp[]) {
        struct exec_plan plan;
        char *const *env = EXEC_ENVIRONMENT(&plan, envp, AT_FDCWD, file, .is_search = true);

        return EXEC_CALL(&plan, envp, env,
                         real.execvpe.fn ? REAL(execvpe)(file, argv, env) : exec_missing());
}

HOOK_EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
        return exec_run(path, argv, envp);
}

HOOK_EXPORT int execv(const char *path, char *const argv[]) {
        return exec_run(path, argv, environ);
}

HOOK_EXPORT int execvp(const char *file, char *const argv[]) {
        return exec_search(file, argv, environ);
}

HOOK_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]) {
        return exec_search(file, argv, envp);
}

HOOK_EXPORT int fexecve(int fd, char *const argv[], char *const envp[]) {
        struct exec_plan plan;
        char *const *env;

        if (!envp && real.fexecve.fn) /* libc refuses it */
                return REAL(fexecve)(fd, argv, envp);
        env = EXEC_ENVIRONMENT(&plan, envp, fd, "", AT_EMPTY_PATH);
        return EXEC_CALL(&plan, envp, env,
                         real.fexecve.fn ? REAL(fexecve)(fd, argv, env) : exec_missing());
}

/* libc may be older than the call. */
static int exec_at(int dir_fd, const char *path, char *const argv[], char *const envp[],
                   int flags) {
        long r;

        if (real.execveat.fn)
                return REAL(execveat)(dir_fd, path, argv, envp, flags);
        r = sys_call6(SYS_execveat, dir_fd, (long)path, (long)argv, (long)envp, flags, 0);
        errno = (int)-r;
        return -1;
}

HOOK_EXPORT int execveat(int dir_fd, const char *path, char *const argv[], char *const envp[],
                         int flags) {
        struct exec_plan plan;
        char *const *env = EXEC_ENVIRONMENT(&plan, envp, dir_fd, path, flags);

        return EXEC_CALL(&plan, envp, env, exec_at(dir_fd, path, argv, env, flags));
}

/* ---- arguments given one by one ---------------------------------------------------------- */

/* Counts the arguments up to and including NULL; 0: too many. */
static size_t exec_count_args(va_list args) {
        size_t n = 2;

        while (va_arg(args, char *))
                if (++n > EXEC_ARGS_MAX)
                        return 0;
        return n;
}

static void exec_read_args(char **argv, const char *first, size_t n, va_list args) {
        argv[0] = (char *)first;
        for (size_t i = 1; i < n; i++)
                argv[i] = va_arg(args, char *);
}

/* argv in the caller's frame; NULL: too many. */
#define EXEC_ARGUMENTS(first, n)                                                                   \
        ({                                                                                         \
                char **argv_ = NULL;                                                               \
                va_list args_;                                                                     \
                                                                                                   \
                va_start(args_, first);                                                            \
                n = exec_count_args(args_);                                                        \
                va_end(args_);                                                                     \
                if (n) {                                                                           \
                        argv_ = alloca(n * sizeof(char *));                                        \
                        va_start(args_, first);                                                    \
                        exec_read_args(argv_, first, n, args_);                                    \
                        va_end(args_);                                                             \
                }                                                                                  \
                argv_;                                                                             \
        })

static int exec_too_big(void) {
        errno = E2BIG;
        return -1;
}

HOOK_EXPORT int execl(const char *path, const char *arg, ...) {
        size_t n;
        char **argv = EXEC_ARGUMENTS(arg, n);

        return argv ? exec_run(path, argv, environ) : exec_too_big();
}

HOOK_EXPORT int execlp(const char *file, const char *arg, ...) {
        size_t n;
        char **argv = EXEC_ARGUMENTS(arg, n);

        return argv ? exec_search(file, argv, environ) : exec_too_big();
}

HOOK_EXPORT int execle(const char *path, const char *arg, ...) {
        size_t n;
        char **argv = EXEC_ARGUMENTS(arg, n);
        char **envp = NULL;
        va_list args;

        if (!argv)
                return exec_too_big();
        va_start(args, arg);
        for (size_t i = 1; i < n; i++)
                (void)va_arg(args, char *);
        envp = va_arg(args, char **);
        va_end(args);
        return exec_run(path, argv, envp);
}

/* ---- spawn ------------------------------------------------------------------------------- */

/* As libc does it: the number of a child is given where there is one, and the caller asks for it. */
static int exec_spawned(const struct exec_plan *p, pid_t pid, pid_t *ret_pid, int r) {
        int error = errno;

        if (r == 0 && p->unseen)
                exec_tell_unseen(p, pid, 0);
        if (r == 0 && ret_pid)
                *ret_pid = pid;
        errno = error;
        return r;
}

HOOK_EXPORT int posix_spawn(pid_t *ret_pid, const char *path,
                            const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const envp[]) {
        struct exec_plan plan;
        char *const *env;
        pid_t pid = 0;
        int r;

        thread_get();
        if (!real.posix_spawn.fn)
                return ENOSYS;
        env = EXEC_ENVIRONMENT(&plan, envp, AT_FDCWD, path);
        r = REAL(posix_spawn)(&pid, path, actions, attr, argv, env);
        r = EXEC_SMALLER(&plan, envp, env, r == E2BIG, r,
                         REAL(posix_spawn)(&pid, path, actions, attr, argv, env));
        return exec_spawned(&plan, pid, ret_pid, r);
}

HOOK_EXPORT int posix_spawnp(pid_t *ret_pid, const char *file,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[],
                             char *const envp[]) {
        struct exec_plan plan;
        char *const *env;
        pid_t pid = 0;
        int r;

        thread_get();
        if (!real.posix_spawnp.fn)
                return ENOSYS;
        env = EXEC_ENVIRONMENT(&plan, envp, AT_FDCWD, file, .is_search = true);
        r = REAL(posix_spawnp)(&pid, file, actions, attr, argv, env);
        r = EXEC_SMALLER(&plan, envp, env, r == E2BIG, r,
                         REAL(posix_spawnp)(&pid, file, actions, attr, argv, env));
        return exec_spawned(&plan, pid, ret_pid, r);
}
