/* SPDX-License-Identifier: MIT */
#include "import/perf_space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "import/address_ranges.h"
#include "import/build_id.h"
#include "import/import_hash.h"
#include "import/import_maps.h"
#include "import/perf_kernel.h"
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

struct code_process {
        struct address_ranges mappings; /* owner: of files, UINT32_MAX: code in no file */
        struct remote_space *walked;    /* the same, for walks; NULL: not yet made */
};

struct perf_space {
        const struct perf_file *f;
        struct arena *arena;
        VEC(struct code_file) files;
        VEC(struct code_process) processes;
        struct map file_by_name, by_pid;
        uint64_t n_mappings, max_mappings;
        bool asks_files; /* of this machine */
        int64_t end_s;   /* when the recording was written */
        bool is_here;    /* the recording is of this machine */
        struct perf_kernel kernel;
};

struct perf_space *perf_space_new(const struct perf_file *file, bool asks_files) {
        struct perf_space *s = calloc(1, sizeof(*s));
        struct timespec now, up;
        struct utsname u;
        struct stat st;
        bool is_of_this_start;

        if (!s)
                abort();
        s->f = file;
        s->asks_files = asks_files;
        s->arena = arena_new();
        s->max_mappings = SPACE_MIN_MAPPINGS + file->bytes.n / SPACE_BYTES_PER_MAPPING;
        is_of_this_start = fstat(file->in->fd, &st) == 0 &&
                           clock_gettime(CLOCK_REALTIME, &now) == 0 &&
                           clock_gettime(CLOCK_BOOTTIME, &up) == 0 &&
                           st.st_mtim.tv_sec > now.tv_sec - up.tv_sec;
        s->end_s = fstat(file->in->fd, &st) == 0 ? st.st_mtim.tv_sec : 0;
        s->is_here = asks_files && uname(&u) == 0 && strcmp(file->host, u.nodename) == 0 &&
                     strcmp(file->os_release, u.release) == 0;
        perf_kernel_init(&s->kernel, file, s->is_here, is_of_this_start, "");
        return s;
}

static void drop(struct code_process *p) {
        p->walked = remote_space_free(p->walked);
        address_ranges_done(&p->mappings);
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
        perf_kernel_done(&s->kernel);
        arena_free(s->arena);
        free(s);
        return NULL;
}

bool perf_space_is_here(const struct perf_space *s) {
        return s->is_here;
}

void perf_space_kernel_place(const struct perf_space *s, uint64_t return_address,
                             struct import_place *ret) {
        perf_kernel_place(&s->kernel, return_address, ret);
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
        int fd = s->asks_files && x->path[0] == '/' ? import_maps_open(x->path) : -1;

        x->is_checked = true;
        if (fd < 0)
                return;
        x->is_here = fstat(fd, &st) == 0;
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

/* Files that may be others than those that ran are code in no file. */
static void map_for_walks(struct perf_space *s, struct code_process *p,
                          const struct address_range *m) {
        struct code_file *x = m->owner == UINT32_MAX ? NULL : &s->files.items[m->owner];
        bool is_vdso = x && strcmp(x->path, "[vdso]") == 0;

        if (x && !x->is_checked)
                check_file(s, x);
        remote_space_map(p->walked, m->begin, m->end, m->offset,
                         x && (x->is_sure || (is_vdso && s->is_here)) ? x->path : "");
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
        struct address_range m = {0};
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
                perf_kernel_map(&s->kernel, &m, path, &id);
                return 0;
        }
        p = process_of(s, bytes_le32(r->bytes + 8));
        x = count_mappings(s, p->mappings.n < SPACE_MAX_PROCESS_MAPPINGS ? 2 : s->max_mappings,
                           r->at, reterr);
        m.owner = file_of(s, path, &id, inode);
        if (x < 0)
                return x;
        address_ranges_put(&p->mappings, &m);
        if (p->walked)
                map_for_walks(s, p, &m);
        return 0;
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
        x = count_mappings(s, parent->mappings.n, at, reterr);
        drop(child);
        if (x >= 0)
                address_ranges_copy(&child->mappings, &parent->mappings);
        return x;
}

void perf_space_exec(struct perf_space *s, uint32_t pid) {
        drop(process_of(s, pid));
}

void perf_space_place(struct perf_space *s, uint32_t pid, uint64_t return_address,
                      struct import_place *ret) {
        const struct code_process *p = process_of(s, pid);
        uint64_t at = return_address ? return_address - 1 : 0;
        const struct address_range *m = address_ranges_at(&p->mappings, at);
        struct code_file *x;

        *ret = (struct import_place){.address = return_address};
        if (!m || m->owner == UINT32_MAX)
                return;
        x = &s->files.items[m->owner];
        ret->module = x->path;
        ret->address = return_address - m->begin + address_in(s, x, m->offset);
        ret->build_id = x->id.n ? x->id.bytes : NULL;
        ret->n_build_id = x->id.n;
}

/* ---- copies of stacks ---------------------------------------------------------------------------- */

#if defined(__aarch64__)
enum { REG_FP = 29, REG_LR = 30, REG_SP = 31, REG_PC = 32 };
#else
enum { REG_FP = 6, REG_SP = 7, REG_PC = 8, REG_LR = 5 /* di */ };
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

static struct remote_space *space_of(struct perf_space *s, struct code_process *p) {
        if (p->walked)
                return p->walked;
        p->walked = remote_space_new(-1); /* no process: its number may be another's by now */
        for (size_t i = 0; i < p->mappings.leaves.n; i++)
                for (size_t k = 0; k < p->mappings.leaves.items[i].n; k++)
                        map_for_walks(s, p, &p->mappings.leaves.items[i].items[k]);
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
        if (!sample->regs || !sample->stack || !stack.n_bytes ||
            !take_register(e, sample, REG_PC, &regs.pc) ||
            !take_register(e, sample, REG_SP, &regs.sp))
                return 0;
        take_register(e, sample, REG_FP, &regs.fp);
        take_register(e, sample, REG_LR, &regs.lr);
        n = remote_walk(space_of(s, process_of(s, sample->pid)), &regs, &stack, ret_pcs, cap, &end);
        *ret_is_whole = end == REMOTE_COMPLETE || end == REMOTE_GUESSED;
        return n;
}
