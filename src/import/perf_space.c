/* SPDX-License-Identifier: MIT */
#include "import/perf_space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/kernel_id.h"
#include "base/macros.h"
#include "import/build_id.h"
#include "import/import_hash.h"
#include "import/import_maps.h"
#include "remote/remote_walk.h"

enum {
        SPACE_MISC_DATA = 1 << 13,     /* a mapping that holds no code */
        SPACE_MISC_BUILD_ID = 1 << 14, /* in the place of device and inode */
        SPACE_MISC_CPU = 7,
        SPACE_MISC_KERNEL = 1,
        SPACE_MIN_MAPPINGS = 1 << 16, /* of all processes together; more in larger files */
        SPACE_BYTES_PER_MAPPING = 8,
        SPACE_MAX_PROCESS_MAPPINGS = 1 << 16, /* as the kernel usually allows */
};

/* A file of code, as the recording names it. */
struct code_file {
        const char *path;
        struct perf_build_id id;
        uint64_t inode; /* 0: unknown */
        bool is_checked,
                is_here; /* this machine's file of that path is the one that ran, as far as is known */
        bool is_sure;    /* it is: by its build-id, or its inode and its age */
        struct map addresses; /* offset in the file → address there */
};

struct code_mapping {
        uint64_t begin, end, offset;
        uint32_t file; /* UINT32_MAX: code in no file */
};

struct code_process {
        VEC(struct code_mapping) list; /* sorted, without overlaps */
        struct remote_space *walked;   /* the same, for walks; NULL: not yet made */
};

struct perf_space {
        const struct perf_file *f;
        struct arena *arena;
        VEC(struct code_file) files;
        VEC(struct code_process) processes;
        struct map file_by_name, by_pid;
        uint64_t n_mappings, max_mappings;
        bool can_walk;
        int64_t end_s;                  /* when the recording was written */
        bool is_here, is_of_this_start; /* the recording is of this machine; since it was started */
        uint64_t kernel_begin, kernel_end; /* that this machine's names are of; none: 0, 0 */
        uint8_t kernel_id[32];
        uint32_t n_kernel_id;
};

struct perf_space *perf_space_new(const struct perf_file *file, bool can_walk) {
        struct perf_space *s = calloc(1, sizeof(*s));
        struct timespec now, up;
        struct utsname u;
        struct stat st;

        if (!s)
                abort();
        s->f = file;
        s->can_walk = can_walk;
        s->arena = arena_new();
        s->max_mappings = SPACE_MIN_MAPPINGS + file->bytes.n / SPACE_BYTES_PER_MAPPING;
        s->is_of_this_start = fstat(file->in->fd, &st) == 0 &&
                              clock_gettime(CLOCK_REALTIME, &now) == 0 &&
                              clock_gettime(CLOCK_BOOTTIME, &up) == 0 &&
                              st.st_mtim.tv_sec > now.tv_sec - up.tv_sec;
        s->end_s = fstat(file->in->fd, &st) == 0 ? st.st_mtim.tv_sec : 0;
        s->is_here = uname(&u) == 0 && strcmp(file->host, u.nodename) == 0 &&
                     strcmp(file->os_release, u.release) == 0;
        return s;
}

static void drop(struct code_process *p) {
        p->walked = remote_space_free(p->walked);
        vec_free(&p->list);
}

struct perf_space *perf_space_free(struct perf_space *s) {
        if (!s)
                return NULL;
        for (size_t i = 0; i < s->files.n; i++)
                map_done(&s->files.items[i].addresses);
        for (size_t i = 0; i < s->processes.n; i++)
                drop(&s->processes.items[i]);
        vec_free(&s->files);
        vec_free(&s->processes);
        map_done(&s->file_by_name);
        map_done(&s->by_pid);
        arena_free(s->arena);
        free(s);
        return NULL;
}

bool perf_space_is_here(const struct perf_space *s) {
        return s->is_here;
}

/* ---- the kernel ---------------------------------------------------------------------------------- */

/* Of the kernel that runs here. */
static bool kernel_has_id(const struct perf_build_id *id) {
        uint8_t notes[4096], own[32];
        size_t n = 0;
        int fd = fs_open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC, 0);
        ssize_t got = fd < 0 ? -1 : fs_read_at(fd, notes, sizeof(notes), 0);

        if (fd >= 0)
                close(fd);
        if (got > 0)
                n = build_id_of_notes(notes, (size_t)got, own, sizeof(own));
        return n && n == id->n && memcmp(own, id->bytes, n) == 0;
}

/* Where a symbol of this kernel is; 0: it is hidden, or there is none. */
static uint64_t kernel_address(const char *name) {
        FILE *f = fopen("/proc/kallsyms", "re");
        uint64_t found = 0;
        char line[1024];

        while (f && !found && fgets(line, sizeof(line), f)) {
                unsigned long long address;
                char symbol[512];

                if (sscanf(line, "%llx %*c %511s", &address, symbol) == 2 &&
                    strcmp(symbol, name) == 0)
                        found = address;
        }
        if (f)
                fclose(f);
        return found;
}

/* "[kernel.kallsyms]_text", whose offset is the address of _text: the kernel lies elsewhere whenever the machine is started. Without a build-id
 * (perf record -z, or to a pipe) the recording has to be of the time since then. */
static void take_kernel(struct perf_space *s, uint64_t begin, uint64_t end, uint64_t offset,
                        const char *path, const struct perf_build_id *id) {
        static const char name[] = "[kernel.kallsyms]";
        const char *symbol = path + strlen(name);

        if (strncmp(path, name, strlen(name)) != 0 || !symbol[0] || !s->is_here || s->kernel_end)
                return;
        if (!id->n)
                id = perf_file_build_id(s->f, name);
        if (id->n ? !kernel_has_id(id) : !s->is_of_this_start)
                return;
        if (kernel_address(symbol) != offset)
                return;
        s->n_kernel_id = kernel_id_read(s->kernel_id);
        s->kernel_begin = begin;
        s->kernel_end = end;
}

void perf_space_kernel_place(struct perf_space *s, uint64_t return_address,
                             struct import_place *ret) {
        *ret = (struct import_place){.module = KERNEL_ID_PATH, .address = return_address};
        if (return_address > s->kernel_begin && return_address <= s->kernel_end && s->n_kernel_id) {
                ret->build_id = s->kernel_id;
                ret->n_build_id = s->n_kernel_id;
        }
}

/* ---- files --------------------------------------------------------------------------------------- */

/* Memory that perf, too, has named by the process itself. */
static bool is_made_code(const char *path) {
        static const char *const begins[] = {"//anon",  "/dev/zero", "/anon_hugepage",
                                             "/memfd:", "/SYSV",     "//toolong"};

        for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
                if (strncmp(path, begins[i], strlen(begins[i])) == 0)
                        return true;
        return path[0] != '/' && strcmp(path, "[vdso]") != 0;
}

static uint32_t file_of(struct perf_space *s, const char *path, const struct perf_build_id *id,
                        uint64_t inode) {
        uint64_t *idx;
        bool is_new;

        if (is_made_code(path))
                return UINT32_MAX;
        if (!id->n)
                id = perf_file_build_id(s->f, path);
        if (path[0] == '[' && !id->n && !s->is_here)
                return UINT32_MAX; /* this machine's may be another */
        idx = map_put(&s->file_by_name, hash_bytes(hash_text(1 + inode, path), id->bytes, id->n),
                      s->files.n, &is_new);
        if (is_new)
                vec_push(&s->files, (struct code_file){.path = arena_strdup(s->arena, path),
                                                       .id = *id,
                                                       .inode = inode});
        return (uint32_t)*idx;
}

/* A file that has another build-id by now tells nothing of the one that ran. */
static void check_file(const struct perf_space *s, struct code_file *x) {
        struct stat st;
        uint8_t own[32];
        int fd = x->path[0] == '/' ? open(x->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

        x->is_checked = true;
        if (fd < 0)
                return;
        x->is_here = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
        if (x->is_here && x->id.n)
                x->is_here = x->is_sure = build_id_of_file(fd, own, sizeof(own)) == x->id.n &&
                                          memcmp(own, x->id.bytes, x->id.n) == 0;
        else if (x->is_here)
                x->is_sure = s->is_here && x->inode && st.st_ino == x->inode &&
                             st.st_mtim.tv_sec < s->end_s;
        close(fd);
}

/* The address that a place of the file has in the file's own count. */
static uint64_t address_in(const struct perf_space *s, struct code_file *x, uint64_t offset) {
        uint64_t *address;
        bool is_new;

        if (!x->is_checked)
                check_file(s, x);
        address = map_put(&x->addresses, offset, offset, &is_new);
        if (is_new && x->is_here)
                import_maps_address_in_file(x->path, offset, address);
        return *address;
}

/* ---- mappings ------------------------------------------------------------------------------------ */

static struct code_process *process_of(struct perf_space *s, uint32_t pid) {
        bool is_new;
        uint64_t *idx = map_put(&s->by_pid, pid, s->processes.n, &is_new);

        if (is_new)
                vec_add(&s->processes);
        return &s->processes.items[*idx];
}

/* The first that ends behind address. */
static size_t first_behind(const struct code_process *p, uint64_t address) {
        size_t low = 0, high = p->list.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (p->list.items[mid].end <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

/* What lay there is no more. */
static void put_mapping(struct code_process *p, const struct code_mapping *m) {
        size_t i = first_behind(p, m->begin), j = i, n_tail;
        struct code_mapping parts[3];
        size_t n = 0;

        while (j < p->list.n && p->list.items[j].begin < m->end)
                j++;
        if (i < j && p->list.items[i].begin < m->begin) {
                parts[n] = p->list.items[i];
                parts[n++].end = m->begin;
        }
        parts[n++] = *m;
        if (i < j && p->list.items[j - 1].end > m->end) {
                parts[n] = p->list.items[j - 1];
                parts[n].offset += m->end - parts[n].begin;
                parts[n++].begin = m->end;
        }
        p->walked = remote_space_free(p->walked);
        n_tail = p->list.n - j;
        for (size_t k = j - i; k < n; k++)
                vec_add(&p->list);
        memmove(p->list.items + i + n, p->list.items + j, n_tail * sizeof(*m));
        memcpy(p->list.items + i, parts, n * sizeof(*m));
        p->list.n = i + n + n_tail;
}

static int count_mappings(struct perf_space *s, uint64_t n, uint64_t at, struct err *reterr) {
        s->n_mappings += n;
        return s->n_mappings <= s->max_mappings
                       ? 0
                       : perf_file_refuse(s->f, at, reterr, "more mappings than are plausible");
}

int perf_space_map(struct perf_space *s, const struct perf_record *r, struct err *reterr) {
        size_t name_at = r->type == PERF_MMAP2 ? 72 : 40;
        struct perf_build_id id = {0};
        struct code_mapping m = {0};
        struct code_process *p;
        uint64_t inode = 0;
        char path[4096];
        int x;

        if (r->n <= name_at)
                return perf_file_refuse(s->f, r->at, reterr, "a mapping is cut off");
        m.begin = bytes_le64(r->bytes + 16);
        m.end = m.begin + bytes_le64(r->bytes + 24);
        m.offset = bytes_le64(r->bytes + 32);
        if (r->misc & SPACE_MISC_DATA || m.end <= m.begin)
                return 0;
        if (r->type == PERF_MMAP2 && r->misc & SPACE_MISC_BUILD_ID) {
                id.n = MIN(r->bytes[40], (uint32_t)sizeof(id.bytes));
                memcpy(id.bytes, r->bytes + 44, sizeof(id.bytes));
        } else if (r->type == PERF_MMAP2) {
                inode = bytes_le64(r->bytes + 48);
        }
        snprintf(path, sizeof(path), "%.*s", (int)MIN(r->n - name_at, sizeof(path) - 1),
                 (const char *)r->bytes + name_at);
        if ((r->misc & SPACE_MISC_CPU) == SPACE_MISC_KERNEL) {
                take_kernel(s, m.begin, m.end, m.offset, path, &id);
                return 0;
        }
        p = process_of(s, bytes_le32(r->bytes + 8));
        x = count_mappings(s, p->list.n < SPACE_MAX_PROCESS_MAPPINGS ? 2 : s->max_mappings, r->at,
                           reterr);
        m.file = file_of(s, path, &id, inode);
        if (x >= 0)
                put_mapping(p, &m);
        return x;
}

int perf_space_fork(struct perf_space *s, uint32_t pid, uint32_t parent_pid, uint64_t at,
                    struct err *reterr) {
        struct code_process *child, *parent;
        int x;

        process_of(s, pid);
        parent = process_of(s, parent_pid);
        child = process_of(s, pid);
        if (child == parent)
                return 0;
        x = count_mappings(s, parent->list.n, at, reterr);
        drop(child);
        for (size_t i = 0; x >= 0 && i < parent->list.n; i++)
                vec_push(&child->list, parent->list.items[i]);
        return x;
}

void perf_space_exec(struct perf_space *s, uint32_t pid) {
        drop(process_of(s, pid));
}

void perf_space_place(struct perf_space *s, uint32_t pid, uint64_t return_address,
                      struct import_place *ret) {
        const struct code_process *p = process_of(s, pid);
        uint64_t at = return_address ? return_address - 1 : 0;
        size_t i = first_behind(p, at);
        const struct code_mapping *m = i < p->list.n ? &p->list.items[i] : NULL;
        struct code_file *x;

        *ret = (struct import_place){.address = return_address};
        if (!m || m->begin > at || m->file == UINT32_MAX)
                return;
        x = &s->files.items[m->file];
        ret->module = x->path;
        ret->address = return_address - m->begin + address_in(s, x, m->offset);
        ret->build_id = x->id.n ? x->id.bytes : NULL;
        ret->n_build_id = x->id.n;
}

/* ---- copies of stacks ---------------------------------------------------------------------------- */

#if defined(__aarch64__)
enum { REG_FP = 29, REG_LR = 30, REG_SP = 31, REG_PC = 32 };
#else
enum { REG_FP = 6, REG_SP = 7, REG_PC = 8, REG_LR = 64 };
#endif

/* Those of the mask lie one behind the other. False: it is not among them. */
static bool take_register(const struct perf_event *e, const struct perf_sample *sample,
                          unsigned reg, uint64_t *ret) {
        uint64_t bit;

        if (reg >= 64 || !(e->regs_mask >> reg & 1))
                return false;
        bit = (uint64_t)1 << reg;
        *ret = bytes_le64(sample->regs + 8 * __builtin_popcountll(e->regs_mask & (bit - 1)));
        return true;
}

/* Files that may be others than those that ran are code in no file. */
static struct remote_space *space_of(struct perf_space *s, struct code_process *p) {
        if (p->walked)
                return p->walked;
        p->walked = remote_space_new(-1); /* no process: its number may be another's by now */
        for (size_t i = 0; i < p->list.n; i++) {
                const struct code_mapping *m = &p->list.items[i];
                struct code_file *x = m->file == UINT32_MAX ? NULL : &s->files.items[m->file];
                bool is_vdso = x && strcmp(x->path, "[vdso]") == 0;

                if (x && !x->is_checked)
                        check_file(s, x);
                remote_space_map(p->walked, m->begin, m->end, m->offset,
                                 x && (x->is_sure || (is_vdso && s->is_here)) ? x->path : "");
        }
        return p->walked;
}

size_t perf_space_walk(struct perf_space *s, const struct perf_event *e,
                       const struct perf_sample *sample, uint64_t *ret_pcs, size_t cap,
                       bool *ret_is_whole) {
        const struct remote_stack stack = {sample->stack, sample->n_stack_bytes};
        struct remote_regs regs = {0};
        enum remote_end end;
        size_t n;

        *ret_is_whole = false;
        if (!s->can_walk || !sample->regs || !sample->stack || !stack.n_bytes ||
            !take_register(e, sample, REG_PC, &regs.pc) ||
            !take_register(e, sample, REG_SP, &regs.sp))
                return 0;
        take_register(e, sample, REG_FP, &regs.fp);
        take_register(e, sample, REG_LR, &regs.lr);
        n = remote_walk(space_of(s, process_of(s, sample->pid)), &regs, &stack, ret_pcs, cap, &end);
        *ret_is_whole = end == REMOTE_COMPLETE || end == REMOTE_GUESSED;
        return n;
}
