/* SPDX-License-Identifier: MIT */
#include "hook/exec_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/runtime.h"

extern char **environ;

enum {
        EXEC_PATH_MAX = 1024,
        EXEC_DIRS_MAX = 65536,
        EXEC_ENVIRON_MAX = 65536,
        EXEC_HEAD_BYTES = 256, /* as much as the kernel looks at */
        EXEC_SCRIPTS_MAX = 5,  /* as many as the kernel follows */
        EXEC_PHDRS_MAX = 64
};

#if defined(__aarch64__)
enum { EXEC_MACHINE = EM_AARCH64 };
#else
enum { EXEC_MACHINE = EM_X86_64 };
#endif

const char *exec_value(struct readable *readable, const char *entry, const char *name) {
        for (; readable_has(readable, entry); entry++, name++) {
                if (!*name)
                        return *entry == '=' ? entry + 1 : NULL;
                if (*entry != *name)
                        return NULL;
        }
        return NULL;
}

/* ---- rights ------------------------------------------------------------------------------ */

/* Runs with rights that its caller does not have: the loader will not load us there, and the name of our socket is none
 * of its business. Files with capabilities are not looked at: for them the loader's own care must do. */
static bool exec_is_privileged(const struct stat *st) {
        return ((st->st_mode & S_ISUID) && st->st_uid != (uid_t)sys_call3(SYS_geteuid, 0, 0, 0)) ||
               ((st->st_mode & S_ISGID) && st->st_gid != (gid_t)sys_call3(SYS_getegid, 0, 0, 0));
}

static bool exec_stat(const struct exec_file *file, struct stat *ret_st) {
        return sys_call6(SYS_newfstatat, file->dir_fd, (long)file->path, (long)ret_st,
                         file->flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW), 0, 0) == 0;
}

static bool exec_can_read(const char *path) {
#if defined(SYS_access)
        return sys_call3(SYS_access, (long)path, R_OK, 0) == 0;
#else
        return sys_call3(SYS_faccessat, AT_FDCWD, (long)path, R_OK) == 0;
#endif
}

/* ---- what is in the file ----------------------------------------------------------------- */

static long exec_open_path(int dir_fd, const char *path, int flags) {
        return sys_call6(SYS_openat, dir_fd, (long)path,
                         O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
                                 (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0),
                         0, 0, 0);
}

/* A descriptor may be one that only names the file. */
static long exec_reopen(int fd) {
        char path[32] = "/proc/self/fd/", digits[12];
        unsigned n = sizeof("/proc/self/fd/") - 1, n_digits = 0;

        do {
                digits[n_digits++] = (char)('0' + fd % 10);
                fd /= 10;
        } while (fd > 0);
        while (n_digits)
                path[n++] = digits[--n_digits];
        path[n] = '\0';
        return exec_open_path(AT_FDCWD, path, 0);
}

static long exec_open(const struct exec_file *file, struct readable *readable) {
        bool is_fd = (file->flags & AT_EMPTY_PATH) && file->dir_fd >= 0 &&
                     readable_has(readable, file->path) && !file->path[0];

        return is_fd ? exec_reopen(file->dir_fd)
                     : exec_open_path(file->dir_fd, file->path, file->flags);
}

static bool exec_read(long fd, void *to, size_t n_bytes, uint64_t off) {
        return sys_call6(SYS_pread64, fd, (long)to, (long)n_bytes, (long)off, 0, 0) ==
               (long)n_bytes;
}

static bool exec_begins(const char *text, const char *with) {
        while (*with && *text == *with)
                text++, with++;
        return !*with;
}

/* The loaders that glibc's have been called. Others end a program whose preloaded library they cannot serve. */
static bool exec_is_glibc(const char *loader) {
        static const char names[][12] = {"ld-linux", "ld.so.", "ld64.so.", "ld-2.", "ld-lsb"};
        const char *name = loader;

        for (; *loader; loader++)
                if (*loader == '/')
                        name = loader + 1;
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                if (exec_begins(name, names[i]))
                        return true;
        return false;
}

/* The loader itself, given a program as its argument, preloads us there. */
static enum wire_unseen exec_is_static(const struct exec_file *file, bool is_script,
                                       struct readable *readable) {
        bool is_named = !is_script && readable_length(readable, file->path, EXEC_PATH_MAX) > 0;

        return is_named && exec_is_glibc(file->path) ? WIRE_UNSEEN_NONE : WIRE_UNSEEN_STATIC;
}

/* A file that cannot be read is taken for an ordinary one. */
static enum wire_unseen exec_look_at_elf(long fd, const char *head) {
        const Elf64_Ehdr *eh = (const Elf64_Ehdr *)head;
        char loader[EXEC_HEAD_BYTES];
        Elf64_Phdr ph;

        if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != EXEC_MACHINE)
                return WIRE_UNSEEN_MACHINE;
        for (unsigned i = 0; i < eh->e_phnum && i < EXEC_PHDRS_MAX; i++) {
                if (!exec_read(fd, &ph, sizeof(ph), eh->e_phoff + i * sizeof(ph)))
                        return WIRE_UNSEEN_NONE;
                if (ph.p_type != PT_INTERP)
                        continue;
                if (ph.p_filesz == 0 || ph.p_filesz > sizeof(loader) ||
                    !exec_read(fd, loader, ph.p_filesz, ph.p_offset))
                        return WIRE_UNSEEN_NONE;
                loader[ph.p_filesz - 1] = '\0';
                return exec_is_glibc(loader) ? WIRE_UNSEEN_NONE : WIRE_UNSEEN_LOADER;
        }
        return WIRE_UNSEEN_STATIC;
}

/* "#!interpreter": its name, put where head begins. */
static bool exec_find_interpreter(char *head, long n_bytes) {
        long from = 2, n = 0;

        if (n_bytes < 3 || head[0] != '#' || head[1] != '!')
                return false;
        while (from < n_bytes && (head[from] == ' ' || head[from] == '\t'))
                from++;
        while (from < n_bytes && head[from] && head[from] != ' ' && head[from] != '\t' &&
               head[from] != '\n')
                head[n++] = head[from++];
        head[n] = '\0';
        return n > 0 && from < n_bytes;
}

static enum wire_unseen exec_look_at(const struct exec_file *file, struct readable *readable) {
        _Alignas(Elf64_Ehdr) char head[EXEC_HEAD_BYTES];
        long fd = exec_open(file, readable), n_bytes;
        enum wire_unseen unseen;

        for (unsigned i = 0; i <= EXEC_SCRIPTS_MAX && fd >= 0; i++) {
                n_bytes = sys_call6(SYS_pread64, fd, (long)head, sizeof(head), 0, 0, 0);
                if (n_bytes >= (long)sizeof(Elf64_Ehdr) && exec_begins(head, ELFMAG)) {
                        unseen = exec_look_at_elf(fd, head);
                        sys_close((int)fd);
                        return unseen == WIRE_UNSEEN_STATIC ? exec_is_static(file, i > 0, readable)
                                                            : unseen;
                }
                sys_close((int)fd);
                if (!exec_find_interpreter(head, n_bytes))
                        return WIRE_UNSEEN_NONE;
                fd = exec_open_path(AT_FDCWD, head, 0);
        }
        if (fd >= 0)
                sys_close((int)fd);
        return WIRE_UNSEEN_NONE;
}

/* ---- where it is ------------------------------------------------------------------------- */

static enum wire_unseen exec_look(const struct exec_file *file, struct readable *readable) {
        struct stat st;

        if (!exec_stat(file, &st) || !S_ISREG(st.st_mode))
                return WIRE_UNSEEN_NONE;
        return exec_is_privileged(&st) ? WIRE_UNSEEN_PRIVILEGED : exec_look_at(file, readable);
}

/* The first file of that name in PATH decides. */
static enum wire_unseen exec_look_in(const char *name, long n_name, const char *dirs,
                                     struct readable *readable) {
        struct exec_file file = {.dir_fd = AT_FDCWD};
        char path[EXEC_PATH_MAX];
        struct stat st;

        if (readable_length(readable, dirs, EXEC_DIRS_MAX) < 0)
                return WIRE_UNSEEN_NONE;
        while (*dirs) {
                long n = 0;

                while (dirs[n] && dirs[n] != ':')
                        n++;
                if (n + n_name + 2 <= (long)sizeof(path)) {
                        for (long i = 0; i < n; i++)
                                path[i] = dirs[i];
                        path[n] = '/';
                        for (long i = 0; i <= n_name; i++)
                                path[n + 1 + i] = name[i];
                        file.path = n ? path : path + 1; /* nothing: here */
                        if (exec_stat(&file, &st))
                                return exec_look(&file, readable);
                }
                dirs += n + (dirs[n] == ':');
        }
        return WIRE_UNSEEN_NONE;
}

static const char *exec_find_dirs(struct readable *readable) {
        char **e = environ;

        for (unsigned i = 0; i < EXEC_ENVIRON_MAX && e && readable_has(readable, e) && *e;
             i++, e++) {
                const char *value = exec_value(readable, *e, "PATH");

                if (value)
                        return value;
        }
        return NULL;
}

bool exec_file_must_strip(const struct exec_file *file, struct readable *readable,
                          enum wire_unseen *ret_unseen) {
        long n_name = file->is_search ? readable_length(readable, file->path, EXEC_PATH_MAX) : -1;
        bool is_name = n_name > 0;
        const char *dirs;

        for (long i = 0; is_name && i < n_name; i++)
                is_name = file->path[i] != '/';
        if (!exec_can_read(runtime.self_path)) {
                *ret_unseen = WIRE_UNSEEN_ROOT;
        } else if (!is_name) {
                *ret_unseen = exec_look(file, readable);
        } else {
                dirs = exec_find_dirs(readable);
                *ret_unseen =
                        dirs ? exec_look_in(file->path, n_name, dirs, readable) : WIRE_UNSEEN_NONE;
        }
        /* a static program has no loader that would mind, and its children may be followed */
        return *ret_unseen != WIRE_UNSEEN_NONE && *ret_unseen != WIRE_UNSEEN_STATIC;
}
