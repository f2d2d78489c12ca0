/* SPDX-License-Identifier: MIT */
/* exec and spawn: an environment that lost what carries the runtime on gets it back; where the
 * runtime cannot go, or must not, the new image is not told of it. Everything is built on the stack,
 * because the caller may be a vfork child, whose heap is its parent's. */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/call.h"
#include "hook/event.h"
#include "wire/hello.h"

extern char **environ;

#define EXEC_PRELOAD "LD_PRELOAD"

enum { EXEC_PATH_MAX = 1024, EXEC_ENTRIES_MAX = 4096, EXEC_TEXT_MAX = 16384, EXEC_ARGS_MAX = 4096 };

/* The program to be run, as the exec functions name it. */
struct exec_file {
        int dir_fd;
        const char *path;
        int flags;      /* AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW */
        bool is_search; /* path is looked for in PATH when it has no slash */
};

/* What a changed environment needs on the stack; 0 bytes: nothing has to change. */
struct exec_plan {
        size_t n_entries;
        size_t n_bytes;
        const char *preload; /* the value given, or NULL */
        bool has_rendezvous;
        bool strips; /* the new image is not to know of silt */
};

static size_t exec_length(const char *text) {
        size_t n = 0;

        while (text[n])
                n++;
        return n;
}

/* The value, when entry is of this name. */
static const char *exec_value(const char *entry, const char *name) {
        while (*name && *entry == *name)
                entry++, name++;
        return *name == '\0' && *entry == '=' ? entry + 1 : NULL;
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

/* ---- images that are not to be entered --------------------------------------------------- */

/* Runs with rights that its caller does not have: the loader will not load us there, and the name of our socket is none
 * of its business. Files with capabilities are not looked at: for them the loader's own care must do. */
static bool exec_is_privileged(int dir_fd, const char *path, int flags) {
        struct stat st;

        if (sys_call6(SYS_newfstatat, dir_fd, (long)path, (long)&st, flags, 0, 0) < 0 ||
            !S_ISREG(st.st_mode) || !(st.st_mode & (S_ISUID | S_ISGID)))
                return false;
        return ((st.st_mode & S_ISUID) && st.st_uid != (uid_t)sys_call3(SYS_geteuid, 0, 0, 0)) ||
               ((st.st_mode & S_ISGID) && st.st_gid != (gid_t)sys_call3(SYS_getegid, 0, 0, 0));
}

/* The first file of that name in PATH decides. */
static bool exec_found_is_privileged(const char *name, const char *dirs) {
        char path[EXEC_PATH_MAX];
        size_t n_name = exec_length(name);
        struct stat st;

        while (dirs && *dirs) {
                size_t n = 0;

                while (dirs[n] && dirs[n] != ':')
                        n++;
                if (n + n_name + 2 <= sizeof(path)) {
                        for (size_t i = 0; i < n; i++)
                                path[i] = dirs[i];
                        path[n] = '/';
                        for (size_t i = 0; i <= n_name; i++)
                                path[n + 1 + i] = name[i];
                        if (sys_call6(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) ==
                            0)
                                return exec_is_privileged(AT_FDCWD, path, 0);
                }
                dirs += n + (dirs[n] == ':');
        }
        return false;
}

static bool exec_can_read(const char *path) {
#if defined(SYS_access)
        return sys_call3(SYS_access, (long)path, R_OK, 0) == 0;
#else
        return sys_call3(SYS_faccessat, AT_FDCWD, (long)path, R_OK) == 0;
#endif
}

/* In another root the loader would say on stderr that it cannot preload us. */
static bool exec_must_strip(const struct exec_file *file) {
        bool is_name = file->is_search && file->path;

        for (const char *at = file->path; is_name && *at; at++)
                is_name = *at != '/';
        if (!exec_can_read(runtime.self_path))
                return true;
        if (!is_name)
                return exec_is_privileged(file->dir_fd, file->path, file->flags);
        for (char **e = environ; e && *e; e++)
                if (exec_value(*e, "PATH"))
                        return exec_found_is_privileged(file->path, exec_value(*e, "PATH"));
        return false;
}

/* ---- the environment --------------------------------------------------------------------- */

static void exec_plan_make(struct exec_plan *p, char *const envp[], const struct exec_file *file) {
        bool is_preloaded;

        *p = (struct exec_plan){0};
        if (!runtime_is_recording() || !runtime.self_path || !runtime.rendezvous)
                return;
        for (; envp && envp[p->n_entries]; p->n_entries++) {
                const char *entry = envp[p->n_entries], *value = exec_value(entry, EXEC_PRELOAD);

                if (value && !p->preload)
                        p->preload = value;
                if (exec_value(entry, WIRE_ENV))
                        p->has_rendezvous = true;
        }
        is_preloaded = p->preload && exec_contains(p->preload, runtime.self_path);
        p->strips = exec_must_strip(file);
        if (p->strips ? !p->has_rendezvous && !is_preloaded : p->has_rendezvous && is_preloaded)
                return;
        p->n_bytes = (p->n_entries + 3) * sizeof(char *) + sizeof(EXEC_PRELOAD) +
                     exec_length(runtime.self_path) + (p->preload ? exec_length(p->preload) : 0) +
                     sizeof(WIRE_ENV) + exec_length(runtime.rendezvous) + 8;
        if (p->n_entries > EXEC_ENTRIES_MAX ||
            p->n_bytes > EXEC_ENTRIES_MAX * sizeof(char *) + EXEC_TEXT_MAX)
                p->n_bytes = 0; /* too large for a stack we do not know */
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
        size_t n = 0;

        if (p->preload) {
                text = exec_append(text, EXEC_PRELOAD "=");
                if (exec_append_without(text, p->preload, runtime.self_path) != text)
                        entries[n++] = preload;
        }
        for (size_t i = 0; i < p->n_entries; i++)
                if (!exec_value(envp[i], EXEC_PRELOAD) && !exec_value(envp[i], WIRE_ENV))
                        entries[n++] = envp[i];
        entries[n] = NULL;
        return entries;
}

/* space: p->n_bytes of stack. */
static char **exec_plan_build(const struct exec_plan *p, char *const envp[], void *space) {
        char **entries = space, *text = (char *)(entries + p->n_entries + 3), *preload = text;
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
                if (!exec_value(envp[i], EXEC_PRELOAD))
                        entries[n++] = envp[i];
        entries[n] = NULL;
        return entries;
}

/* The environment to use, in the caller's frame. */
#define EXEC_ENVIRONMENT(envp, ...)                                                                \
        ({                                                                                         \
                const struct exec_file file_ = {__VA_ARGS__};                                      \
                struct exec_plan plan_;                                                            \
                                                                                                   \
                exec_plan_make(&plan_, envp, &file_);                                              \
                plan_.n_bytes ? exec_plan_build(&plan_, envp, alloca(plan_.n_bytes))               \
                              : (char **)(envp);                                                   \
        })

/* A vfork child shares the parent's ring, but it is not the parent that goes. */
static struct thread *exec_log_begin(void) {
        const uint64_t about_to = 1;
        struct thread *t = thread_get();

        if (!t || sys_getpid() != (int)runtime.pid)
                return NULL;
        event_words(t, WIRE_EXEC, &about_to, 1);
        return t;
}

/* The call returned, so it failed. Keeps errno: nothing here touches it. */
static int exec_log_failed(struct thread *t, int r) {
        const uint64_t failed = 0;

        if (t)
                event_words(t, WIRE_EXEC, &failed, 1);
        return r;
}

static int exec_missing(void) {
        errno = ENOSYS;
        return -1;
}

static int exec_run(const char *path, char *const argv[], char *const envp[]) {
        char *const *env = EXEC_ENVIRONMENT(envp, AT_FDCWD, path);
        struct thread *t = exec_log_begin();

        if (!real.execve.fn)
                return exec_log_failed(t, exec_missing());
        return exec_log_failed(t, REAL(execve)(path, argv, env));
}

static int exec_search(const char *file, char *const argv[], char *const envp[]) {
        char *const *env = EXEC_ENVIRONMENT(envp, AT_FDCWD, file, .is_search = true);
        struct thread *t = exec_log_begin();

        if (!real.execvpe.fn)
                return exec_log_failed(t, exec_missing());
        return exec_log_failed(t, REAL(execvpe)(file, argv, env));
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
        char *const *env = EXEC_ENVIRONMENT(envp, fd, "", AT_EMPTY_PATH);
        struct thread *t = exec_log_begin();

        if (!real.fexecve.fn)
                return exec_log_failed(t, exec_missing());
        return exec_log_failed(t, REAL(fexecve)(fd, argv, env));
}

HOOK_EXPORT int execveat(int dir_fd, const char *path, char *const argv[], char *const envp[],
                         int flags) {
        char *const *env = EXEC_ENVIRONMENT(envp, dir_fd, path, flags);
        struct thread *t = exec_log_begin();
        long r;

        if (real.execveat.fn)
                return exec_log_failed(t, REAL(execveat)(dir_fd, path, argv, env, flags));
        r = sys_call6(SYS_execveat, dir_fd, (long)path, (long)argv, (long)env, flags, 0);
        errno = (int)-r;
        return exec_log_failed(t, -1);
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

HOOK_EXPORT int posix_spawn(pid_t *ret_pid, const char *path,
                            const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const envp[]) {
        char *const *env;

        thread_get();
        env = EXEC_ENVIRONMENT(envp, AT_FDCWD, path);
        return real.posix_spawn.fn ? REAL(posix_spawn)(ret_pid, path, actions, attr, argv, env)
                                   : ENOSYS;
}

HOOK_EXPORT int posix_spawnp(pid_t *ret_pid, const char *file,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[],
                             char *const envp[]) {
        char *const *env;

        thread_get();
        env = EXEC_ENVIRONMENT(envp, AT_FDCWD, file, .is_search = true);
        return real.posix_spawnp.fn ? REAL(posix_spawnp)(ret_pid, file, actions, attr, argv, env)
                                    : ENOSYS;
}
