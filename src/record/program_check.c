/* SPDX-License-Identifier: MIT */
#include "record/program_check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

enum { PROGRAM_MAX_SCRIPT_DEPTH = 4, PROGRAM_MAX_SECTIONS = 256 };

static const char *program_machine_name(uint16_t machine) {
        switch (machine) {
        case EM_AARCH64: return "aarch64";
        case EM_X86_64: return "x86_64";
        case EM_386: return "32-bit x86";
        case EM_ARM: return "32-bit arm";
        case EM_RISCV: return "riscv";
        default: return "another architecture";
        }
}

static bool program_is_program(const char *path) {
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp looks: a name with a slash is a path, others are looked for in PATH. */
static enum program_verdict program_find(const char *name, char ret_path[4096],
                                         struct err *reterr) {
        const char *dirs = getenv("PATH"), *at;
        bool denied = false;

        if (strchr(name, '/')) {
                struct stat st;

                if (stat(name, &st) < 0) {
                        err_set_errno(reterr, -errno, "cannot run '%s'", name);
                        return errno == ENOENT || errno == ENOTDIR ? PROGRAM_NOT_FOUND
                                                                   : PROGRAM_NOT_EXECUTABLE;
                }
                snprintf(ret_path, 4096, "%s", name);
                if (program_is_program(name))
                        return PROGRAM_OK;
                err_set(reterr, -EACCES, "cannot run '%s': %s", name,
                        S_ISDIR(st.st_mode)
                                ? "is a directory: name the program in it"
                                : "not executable: make it executable with chmod +x, or name its interpreter");
                return PROGRAM_NOT_EXECUTABLE;
        }
        if (!dirs || !*dirs)
                dirs = "/bin:/usr/bin";
        for (at = dirs; *name; at = strchr(at, ':') + 1) {
                int n = (int)strcspn(at, ":");

                snprintf(ret_path, 4096, "%.*s%s%s", n, at, n ? "/" : "", name);
                if (program_is_program(ret_path))
                        return PROGRAM_OK;
                denied = denied || (access(ret_path, F_OK) == 0 && access(ret_path, X_OK) < 0);
                if (!strchr(at, ':'))
                        break;
        }
        if (denied) {
                err_set(reterr, -EACCES,
                        "cannot run '%s': permission denied: make it executable with chmod +x",
                        name);
                return PROGRAM_NOT_EXECUTABLE;
        }
        err_set(reterr, -ENOENT, "'%s': not found: give its path or check PATH", name);
        return PROGRAM_NOT_FOUND;
}

/* "#!interpreter arg": the interpreter's path. */
static bool program_read_shebang(const char *head, char ret_interpreter[4096]) {
        size_t n;

        if (head[0] != '#' || head[1] != '!')
                return false;
        head += 2;
        head += strspn(head, " \t");
        n = strcspn(head, " \t\n\r");
        snprintf(ret_interpreter, 4096, "%.*s", (int)MIN(n, 4095ul), head);
        return n > 0;
}

/* The loader's secure mode: it drops LD_PRELOAD. Root keeps its own rights, so nothing changes for it. */
static const char *program_privilege(const char *path) {
        struct stat st;

        if (stat(path, &st) < 0)
                return NULL;
        if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
                return "set-user-id";
        if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid())
                return "set-group-id";
        if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
                return "given capabilities (setcap)";
        return NULL;
}

static void program_read_loader(int fd, const Elf64_Phdr *interp, char ret[256]) {
        memset(ret, 0, 256);
        if (fs_read_at(fd, ret, MIN(interp->p_filesz, 255ul), interp->p_offset) < 0)
                ret[0] = '\0';
}

/* Go's linker gives each program a section of this name. */
static bool program_has_go_section(int fd, const Elf64_Ehdr *eh) {
        static const char wanted[] = ".go.buildinfo";
        char name[sizeof(wanted)];
        Elf64_Shdr names, sh;

        if (eh->e_ident[EI_CLASS] != ELFCLASS64 ||
            fs_read_at(fd, &names, sizeof(names),
                       eh->e_shoff + (uint64_t)eh->e_shstrndx * sizeof(names)) != sizeof(names))
                return false;
        for (unsigned i = 0; i < MIN((unsigned)eh->e_shnum, (unsigned)PROGRAM_MAX_SECTIONS); i++)
                if (fs_read_at(fd, &sh, sizeof(sh), eh->e_shoff + (uint64_t)i * sizeof(sh)) ==
                            sizeof(sh) &&
                    fs_read_at(fd, name, sizeof(name), names.sh_offset + sh.sh_name) ==
                            sizeof(name) &&
                    memcmp(name, wanted, sizeof(wanted)) == 0)
                        return true;
        return false;
}

static bool program_is_go(const char *path) {
        int fd = fs_open(path, O_RDONLY | O_NONBLOCK, 0);
        Elf64_Ehdr eh;
        bool is_go = fd >= 0 && fs_read_at(fd, &eh, sizeof(eh), 0) == sizeof(eh) &&
                     memcmp(eh.e_ident, ELFMAG, SELFMAG) == 0 && program_has_go_section(fd, &eh);

        if (fd >= 0)
                close(fd);
        return is_go;
}

bool program_is_go_process(pid_t pid) {
        char path[32];

        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        return program_is_go(path);
}

void program_explain_go(pid_t pid, struct err *err) {
        if (program_is_go_process(pid))
                err_set(err, err->code,
                        "process %d is a Go program, which silt cannot enter or read: its garbage-collected heap does not use malloc: use Go's own profiler (net/http/pprof)",
                        (int)pid);
}

static bool program_read_elf(int fd, const char *head, size_t n, struct checked_program *ret) {
        const Elf64_Ehdr *eh = (const void *)head;
        Elf64_Phdr ph;

        if (n < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
                return false;
        ret->machine = eh->e_machine;
        ret->is_pie = eh->e_type == ET_DYN;
        ret->is_static = true;
        ret->is_go = program_has_go_section(fd, eh);
        if (eh->e_ident[EI_CLASS] != ELFCLASS64)
                return true;
        for (unsigned i = 0; i < eh->e_phnum; i++) {
                if (fs_read_at(fd, &ph, sizeof(ph), eh->e_phoff + (uint64_t)i * sizeof(ph)) !=
                    sizeof(ph))
                        break;
                if (ph.p_type == PT_INTERP) {
                        ret->is_static = false;
                        program_read_loader(fd, &ph, ret->loader);
                        ret->is_musl = strstr(ret->loader, "/ld-musl-") != NULL;
                }
        }
        return true;
}

static enum program_verdict program_refuse(struct err *reterr, const char *path, const char *why,
                                           const char *remedy) {
        err_set(reterr, -ENOEXEC, "'%s': silt cannot enter it: %s: %s", path, why, remedy);
        return PROGRAM_REFUSED;
}

static enum program_verdict program_judge(const char *path, uint16_t machine,
                                          const struct checked_program *e, struct err *reterr) {
        const char *privilege = program_privilege(path);
        char why[128];

        if (e->machine != machine) {
                snprintf(why, sizeof(why), "it is built for %s, but this silt records %s",
                         program_machine_name(e->machine), program_machine_name(machine));
                return program_refuse(reterr, path, why, "use a silt built for that architecture");
        }
        if (e->is_static && e->is_go)
                return program_refuse(
                        reterr, path,
                        "it is a statically linked Go program, whose garbage-collected heap does not use malloc",
                        "use Go's own profiler (net/http/pprof), or 'silt cpu run' for CPU time");
        if (e->is_static)
                return program_refuse(
                        reterr, path, "it is statically linked, so the loader never runs",
                        "link it dynamically to record it, or record CPU time alone with 'silt cpu run'");
        if (e->is_musl)
                return program_refuse(
                        reterr, path, "it uses musl, but silt's library needs glibc",
                        "build it against glibc to record it, or record CPU time alone with 'silt cpu run'");
        if (privilege) {
                snprintf(why, sizeof(why), "it is %s, so the loader does not preload libraries",
                         privilege);
                return program_refuse(reterr, path, why,
                                      "run silt as root, or record a copy without that privilege");
        }
        return PROGRAM_OK;
}

enum program_verdict program_check(const char *name, uint16_t machine, struct checked_program *ret,
                                   struct err *reterr) {
        enum program_verdict verdict;
        char path[4096];

        memset(ret, 0, sizeof(*ret));
        verdict = program_find(name, ret->path, reterr);
        if (verdict != PROGRAM_OK)
                return verdict;
        memcpy(path, ret->path, sizeof(path));
        for (int depth = 0; depth < PROGRAM_MAX_SCRIPT_DEPTH; depth++) {
                _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);
                char head[512] = {0};
                ssize_t n;

                if (fd < 0) /* executable but not readable: run it, the report will tell */
                        return PROGRAM_OK;
                n = fs_read_at(fd, head, sizeof(head) - 1, 0);
                if (n > 0 && program_read_elf(fd, head, (size_t)n, ret))
                        return program_judge(path, machine, ret, reterr);
                if (n > 0 && program_read_shebang(head, ret->interpreter)) {
                        if (!program_is_program(ret->interpreter)) {
                                err_set(reterr, -ENOENT,
                                        "cannot run '%s': its interpreter '%s' is missing: install it",
                                        ret->path, ret->interpreter);
                                return PROGRAM_NOT_EXECUTABLE;
                        }
                } else {
                        /* execvp gives a file without a known head to the shell. */
                        snprintf(ret->interpreter, sizeof(ret->interpreter), "/bin/sh");
                }
                memcpy(path, ret->interpreter, sizeof(path));
        }
        return program_refuse(reterr, ret->path, "its interpreters refer to each other",
                              "name the interpreter yourself");
}
