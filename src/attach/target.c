/* SPDX-License-Identifier: MIT */
#include "attach/target.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/machine.h"
#include "base/fs.h"
#include "base/macros.h"

enum { TARGET_MAX_PHDRS = 64, TARGET_MAX_DYNAMIC = 512, TARGET_MAX_CHAIN = 65536 };

int target_open(struct target *t, pid_t pid, struct err *reterr) {
        char path[64];
        ssize_t n;

        *t = (struct target){.pid = pid, .mem_fd = -1};
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        n = readlink(path, t->exe, sizeof(t->exe) - 1);
        t->exe[MAX(n, 0)] = '\0';
        snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
        fs_read_text(path, t->name, sizeof(t->name));
        t->name[strcspn(t->name, "\n")] = '\0';
        snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
        t->mem_fd = fs_open(path, O_RDWR, 0);
        if (t->mem_fd < 0)
                return err_set_errno(reterr, t->mem_fd, "process %d: cannot access its memory",
                                     (int)pid);
        return target_refresh(t, reterr);
}

void target_close(struct target *t) {
        if (t->mem_fd >= 0)
                close(TAKE_FD(t->mem_fd));
        if (t->maps.arena)
                maps_done(&t->maps);
}

int target_refresh(struct target *t, struct err *reterr) {
        if (t->maps.arena)
                maps_done(&t->maps);
        return maps_read(&t->maps, t->pid, reterr);
}

bool target_read(const struct target *t, uint64_t addr, void *ret, size_t n_bytes) {
        return pread(t->mem_fd, ret, n_bytes, (off_t)addr) == (ssize_t)n_bytes;
}

size_t target_read_most(const struct target *t, uint64_t addr, void *ret, size_t n_bytes) {
        ssize_t n = pread(t->mem_fd, ret, n_bytes, (off_t)addr);

        return n > 0 ? (size_t)n : 0;
}

bool target_write(const struct target *t, uint64_t addr, const void *bytes, size_t n_bytes) {
        return pwrite(t->mem_fd, bytes, n_bytes, (off_t)addr) == (ssize_t)n_bytes;
}

const struct mapping *target_mapping(const struct target *t, uint64_t addr) {
        for (size_t i = 0; i < t->maps.list.n; i++)
                if (addr >= t->maps.list.items[i].begin && addr < t->maps.list.items[i].end)
                        return &t->maps.list.items[i];
        return NULL;
}

static bool is_named(const struct mapping *m, const char *name) {
        const char *slash = strrchr(m->path, '/');

        return strncmp(slash ? slash + 1 : m->path, name, strlen(name)) == 0;
}

const struct mapping *target_file(const struct target *t, const char *name) {
        for (size_t i = 0; i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];

                if (m->offset == 0 && is_named(m, name))
                        return m;
        }
        return NULL;
}

uint64_t target_libc(const struct target *t) {
        const struct mapping *m = target_file(t, "libc.so");

        if (!m)
                m = target_file(t, "libc-2");
        return m ? m->begin : 0;
}

enum { LIBC_MAX_DATA_BYTES = 1 << 20 };

bool target_libc_data(const struct target *t, uint64_t *ret_begin, uint64_t *ret_end) {
        const struct mapping *libc = target_mapping(t, target_libc(t));

        *ret_begin = *ret_end = 0;
        for (size_t i = 0; libc && i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];

                if (!m->is_writable || !m->is_readable || strcmp(m->path, libc->path) != 0)
                        continue;
                if (!*ret_begin)
                        *ret_begin = m->begin;
                *ret_end = m->end;
        }
        return *ret_end > *ret_begin && *ret_end - *ret_begin <= LIBC_MAX_DATA_BYTES;
}

/* ---- objects, read from its memory: the file may have been replaced since -------------------------- */

/* The header of the object mapped from `begin` on, and its segments: there is room for TARGET_MAX_PHDRS. */
static bool read_header(const struct target *t, uint64_t begin, Elf64_Ehdr *eh, Elf64_Phdr *phdrs) {
        return target_read(t, begin, eh, sizeof(*eh)) &&
               memcmp(eh->e_ident, ELFMAG, SELFMAG) == 0 && eh->e_phnum <= TARGET_MAX_PHDRS &&
               eh->e_phentsize == sizeof(*phdrs) &&
               target_read(t, begin + eh->e_phoff, phdrs, eh->e_phnum * sizeof(*phdrs));
}

bool target_variables(const struct target *t, uint64_t begin, uint64_t *ret_begin,
                      uint64_t *ret_end) {
        Elf64_Phdr phdrs[TARGET_MAX_PHDRS];
        uint64_t first = UINT64_MAX;
        Elf64_Ehdr eh;

        *ret_begin = *ret_end = 0;
        if (!read_header(t, begin, &eh, phdrs))
                return false;
        for (unsigned i = 0; i < eh.e_phnum; i++) {
                if (phdrs[i].p_type != PT_LOAD)
                        continue;
                if (first == UINT64_MAX)
                        first = phdrs[i].p_vaddr & -(uint64_t)4096;
                if (!(phdrs[i].p_flags & PF_W))
                        continue;
                *ret_begin = begin - first + phdrs[i].p_vaddr;
                *ret_end = *ret_begin + phdrs[i].p_memsz;
        }
        return *ret_end > *ret_begin;
}

struct exports {
        const struct target *target;
        uint64_t bias, symbols, strings, hash;
};

static bool exports_find_dynamic(struct exports *e, uint64_t begin, uint64_t *ret_addr) {
        Elf64_Phdr phdrs[TARGET_MAX_PHDRS];
        uint64_t first = UINT64_MAX, dynamic = 0;
        Elf64_Ehdr eh;

        if (!read_header(e->target, begin, &eh, phdrs))
                return false;
        for (unsigned i = 0; i < eh.e_phnum; i++) {
                if (phdrs[i].p_type == PT_LOAD && first == UINT64_MAX)
                        first = phdrs[i].p_vaddr & -(uint64_t)4096;
                if (phdrs[i].p_type == PT_DYNAMIC)
                        dynamic = phdrs[i].p_vaddr;
        }
        if (first == UINT64_MAX || !dynamic)
                return false;
        e->bias = begin - first;
        *ret_addr = e->bias + dynamic;
        return true;
}

static bool exports_open(struct exports *e, const struct target *t, uint64_t begin) {
        uint64_t addr;
        Elf64_Dyn d;

        *e = (struct exports){.target = t};
        if (!exports_find_dynamic(e, begin, &addr))
                return false;
        for (unsigned i = 0; i < TARGET_MAX_DYNAMIC; i++) {
                if (!target_read(t, addr + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
                        break;
                /* the loader relocates these in place, except the vdso's */
                if (d.d_un.d_ptr < e->bias)
                        d.d_un.d_ptr += e->bias;
                if (d.d_tag == DT_SYMTAB)
                        e->symbols = d.d_un.d_ptr;
                else if (d.d_tag == DT_STRTAB)
                        e->strings = d.d_un.d_ptr;
                else if (d.d_tag == DT_GNU_HASH)
                        e->hash = d.d_un.d_ptr;
        }
        return e->symbols && e->strings && e->hash;
}

static bool exports_check(const struct exports *e, uint32_t idx, const char *name, uint64_t *ret,
                          uint64_t *ret_n_bytes) {
        char text[64] = "";
        Elf64_Sym sym;

        if (!target_read(e->target, e->symbols + idx * sizeof(sym), &sym, sizeof(sym)) ||
            sym.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(sym.st_info) != STT_FUNC ||
            pread(e->target->mem_fd, text, strlen(name) + 1, (off_t)(e->strings + sym.st_name)) <
                    0 ||
            strcmp(text, name) != 0)
                return false;
        *ret = e->bias + sym.st_value;
        *ret_n_bytes = sym.st_size;
        return true;
}

uint64_t target_symbol(const struct target *t, uint64_t begin, const char *name,
                       uint64_t *ret_n_bytes) {
        uint32_t head[4], hash = 5381, idx = 0, h;
        uint64_t buckets, chain, found;
        struct exports e;

        if (!exports_open(&e, t, begin) || !target_read(t, e.hash, head, sizeof(head)) || !head[0])
                return 0;
        for (const char *c = name; *c; c++)
                hash = hash * 33 + (uint8_t)*c;
        buckets = e.hash + sizeof(head) + (uint64_t)head[2] * 8;
        chain = buckets + (uint64_t)head[0] * 4;
        if (!target_read(t, buckets + (uint64_t)(hash % head[0]) * 4, &idx, sizeof(idx)) ||
            idx < head[1])
                return 0;
        for (unsigned i = 0; i < TARGET_MAX_CHAIN; i++, idx++) {
                if (!target_read(t, chain + (uint64_t)(idx - head[1]) * 4, &h, sizeof(h)))
                        return 0;
                if ((h | 1) == (hash | 1) && exports_check(&e, idx, name, &found, ret_n_bytes))
                        return found;
                if (h & 1)
                        return 0;
        }
        return 0;
}

uint64_t target_find_code(const struct target *t, const char *name, const uint8_t *bytes,
                          size_t n_bytes) {
        for (size_t i = 0; i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];
                size_t size = (size_t)(m->end - m->begin);
                _cleanup_free_ uint8_t *code = NULL;
                const uint8_t *at;

                if (!m->is_code || !is_named(m, name) || !(code = malloc(size)) ||
                    !target_read(t, m->begin, code, size))
                        continue;
                at = memmem(code, size, bytes, n_bytes);
                if (at)
                        return m->begin + (uint64_t)(at - code);
        }
        return 0;
}

/* What another silt has left there may still be a frame that a thread returns by. */
bool target_is_zero(const struct target *t, uint64_t addr, size_t n_bytes) {
        uint8_t bytes[4096];

        if (n_bytes > sizeof(bytes) || !target_read(t, addr, bytes, n_bytes))
                return false;
        for (size_t i = 0; i < n_bytes; i++)
                if (bytes[i])
                        return false;
        return true;
}

/* Behind the variables of a library; not of ld.so, whose own allocator takes it, nor of the program, whose heap may follow. */
static uint64_t slack_of(const struct target *t, const struct mapping *m, size_t n_bytes) {
        Elf64_Phdr phdrs[TARGET_MAX_PHDRS];
        uint64_t first = UINT64_MAX, end = 0, page_end;
        const struct mapping *at;
        Elf64_Ehdr eh;

        if (!read_header(t, m->begin, &eh, phdrs) || eh.e_type != ET_DYN)
                return 0;
        for (unsigned i = 0; i < eh.e_phnum; i++) {
                if (phdrs[i].p_type != PT_LOAD)
                        continue;
                if (first == UINT64_MAX)
                        first = phdrs[i].p_vaddr & -(uint64_t)4096;
                end = phdrs[i].p_flags & PF_W ? phdrs[i].p_vaddr + phdrs[i].p_memsz : 0;
        }
        if (first == UINT64_MAX || !end)
                return 0;
        end = ALIGN_UP(m->begin - first + end, (uint64_t)64);
        page_end = ALIGN_UP(end, (uint64_t)sysconf(_SC_PAGESIZE));
        at = target_mapping(t, end);
        if (page_end - end < n_bytes || !at || !at->is_writable || !at->is_readable ||
            at->end < page_end || !target_is_zero(t, end, n_bytes))
                return 0;
        return end;
}

static bool is_library(const struct target *t, const struct mapping *m) {
        return m->path[0] == '/' && !m->offset && !is_named(m, "ld-") &&
               strcmp(m->path, t->exe) != 0;
}

/* Whether the program itself names it: such a library is never closed. Where it lies says nothing: one that is opened later may fill a
 * hole above. */
static bool is_needed(const struct target *t, const struct mapping *library) {
        const struct mapping *exe = NULL;
        struct exports e;
        uint64_t addr;
        Elf64_Dyn d;

        for (size_t i = 0; i < t->maps.list.n && !exe; i++)
                if (!t->maps.list.items[i].offset && !strcmp(t->maps.list.items[i].path, t->exe))
                        exe = &t->maps.list.items[i];
        if (!exe || !exports_open(&e, t, exe->begin) ||
            !exports_find_dynamic(&e, exe->begin, &addr))
                return false;
        for (unsigned i = 0; i < TARGET_MAX_DYNAMIC; i++) {
                char name[256];

                if (!target_read(t, addr + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
                        break;
                if (d.d_tag != DT_NEEDED)
                        continue;
                name[target_read_most(t, e.strings + d.d_un.d_val, name, sizeof(name) - 1)] = '\0';
                if (name[0] && is_named(library, name))
                        return true;
        }
        return false;
}

/* Of one that no other thread closes meanwhile: the C library, or one that the program itself names. */
uint64_t target_find_slack(const struct target *t, size_t n_bytes) {
        const struct mapping *libc = target_mapping(t, target_libc(t));
        uint64_t at = libc && is_library(t, libc) ? slack_of(t, libc, n_bytes) : 0;

        for (size_t i = t->maps.list.n; i-- > 0 && !at;)
                if (is_library(t, &t->maps.list.items[i]) && is_needed(t, &t->maps.list.items[i]))
                        at = slack_of(t, &t->maps.list.items[i], n_bytes);
        return at;
}

/* ---- threads ---------------------------------------------------------------------------------------- */

int target_threads(const struct target *t, tids *ret) {
        char path[64];
        struct dirent *one;
        DIR *dir;

        ret->n = 0;
        snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
        dir = opendir(path);
        if (!dir)
                return -errno;
        while ((one = readdir(dir)))
                if (one->d_name[0] != '.')
                        vec_push(ret, (pid_t)atoi(one->d_name));
        closedir(dir);
        return 0;
}

static uint64_t status_number(const char *text, const char *field, int base) {
        const char *at = strstr(text, field);

        return at ? strtoull(at + strlen(field), NULL, base) : 0;
}

bool target_look(const struct target *t, pid_t tid, struct thread_look *ret) {
        char path[80], text[8192], *at;

        *ret = (struct thread_look){.state = 'X'};
        snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)t->pid, (int)tid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return false;
        at = strstr(text, "\nState:\t");
        ret->state = at ? at[8] : 'X';
        ret->n_switches = status_number(text, "\nvoluntary_ctxt_switches:", 10);
        ret->pending = status_number(text, "\nSigPnd:", 16) | status_number(text, "\nShdPnd:", 16);
        ret->blocked = status_number(text, "\nSigBlk:", 16);
        ret->caught = status_number(text, "\nSigCgt:", 16);
        return true;
}

uint64_t target_queued_ns(const struct target *t, pid_t tid) {
        char path[80], text[128];
        uint64_t ran_ns, queued_ns;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)t->pid, (int)tid);
        return fs_read_text(path, text, sizeof(text)) > 0 &&
                               sscanf(text, "%" SCNu64 " %" SCNu64, &ran_ns, &queued_ns) == 2
                       ? queued_ns
                       : 0;
}

void target_syscall(const struct target *t, pid_t tid, struct machine_syscall *ret) {
        char path[80], text[256];
        uint64_t *a = ret->args;

        *ret = (struct machine_syscall){0};
        snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)t->pid, (int)tid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return;
        ret->is_known = sscanf(text,
                               "%" SCNi64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                               " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
                               &ret->number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &ret->sp,
                               &ret->pc) == 9;
        /* in the kernel without a call: it waits for a page */
        if (!ret->is_known && sscanf(text, "-1 %" SCNx64 " %" SCNx64, &ret->sp, &ret->pc) != 2)
                ret->sp = ret->pc = 0;
}
