/* SPDX-License-Identifier: MIT */
#include "resident/resident_smaps.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

enum {
        LINE_BYTES = 4096 + 256,
        GUARD_MAX_BYTES = 1 << 20,
        ARENA_BYTES =
                64
                << 20, /* glibc's further arenas begin at multiples of this, maybe above what another has not used */
        MAX_PHDRS = 64,
        READ_PAGES = 4096,
        RUNTIME_MAX_DATA_BYTES = 1 << 20, /* it has 771 KiB */
        N_ZEROED = 64,
        MAX_ARENAS = 4096,
};

#define KB_MAX (UINT64_MAX >> 24)
#define PAGEMAP_PRESENT ((uint64_t)1 << 63)

/* One mapping while its lines are read. */
struct mapped {
        struct resident_area a;
        uint64_t hugetlb_bytes, device;
        char perms[5];
        bool is_file, is_hugetlb, is_guard, is_writable;
};

typedef VEC(struct mapped) mapped_list;

/* ---- lines ------------------------------------------------------------------------------------- */

/* "7f12-7f34 rw-p 00000000 08:01 1234   /path" */
static bool mapped_begin(struct mapped *m, struct resident *r, char *line) {
        uint64_t begin, end;
        unsigned major, minor;
        unsigned long long inode;
        int at = 0;

        *m = (struct mapped){0};
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %llu %n", &begin, &end, m->perms,
                   &major, &minor, &inode, &at) != 6 ||
            !at || begin >= end)
                return false;
        line[strcspn(line, "\n")] = '\0';
        m->a.begin = begin;
        m->a.size_bytes = end - begin;
        m->a.name = resident_add_name(r, line + at);
        m->device = (uint64_t)major << 32 | minor;
        m->is_file = inode != 0;
        m->is_guard = strncmp(m->perms, "---", 3) == 0;
        m->is_writable = m->perms[1] == 'w';
        return true;
}

static void mapped_field(struct mapped *m, const char *line) {
        static const struct {
                const char *key;
                size_t at; /* of struct mapped */
        } fields[] = {
                {"Rss", offsetof(struct mapped, a.rss_bytes)},
                {"Pss", offsetof(struct mapped, a.pss_bytes)},
                {"Private_Dirty", offsetof(struct mapped, a.private_dirty_bytes)},
                {"Anonymous", offsetof(struct mapped, a.anon_bytes)},
                {"AnonHugePages", offsetof(struct mapped, a.huge_bytes)},
                {"ShmemPmdMapped", offsetof(struct mapped, a.huge_bytes)},
                {"FilePmdMapped", offsetof(struct mapped, a.huge_bytes)},
                {"Shared_Hugetlb", offsetof(struct mapped, hugetlb_bytes)},
                {"Private_Hugetlb", offsetof(struct mapped, hugetlb_bytes)},
                {"Swap", offsetof(struct mapped, a.swap_bytes)},
        };
        const char *colon = strchr(line, ':');

        if (!colon)
                return;
        if (strncmp(line, "VmFlags:", 8) == 0)
                m->is_hugetlb = strstr(colon, " ht") != NULL;
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                if (strlen(fields[i].key) == (size_t)(colon - line) &&
                    strncmp(line, fields[i].key, (size_t)(colon - line)) == 0) {
                        uint64_t *to = (uint64_t *)((char *)m + fields[i].at);

                        /* each once: a sum of several keys cannot pass the end either */
                        *to += MIN((uint64_t)strtoull(colon + 1, NULL, 10), KB_MAX) * 1024;
                        *to = MIN(*to, KB_MAX * 1024);
                }
}

static void skip_line(FILE *f) {
        for (int c = fgetc(f); c != EOF && c != '\n'; c = fgetc(f))
                ;
}

static void clip(struct resident_area *a, uint64_t end) {
        uint64_t *figures[] = {&a->rss_bytes,  &a->pss_bytes,  &a->private_dirty_bytes,
                               &a->anon_bytes, &a->swap_bytes, &a->huge_bytes};

        a->size_bytes = end - a->begin;
        for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
                *figures[i] = MIN(*figures[i], a->size_bytes);
}

/* The kernel writes a few mappings at a time. One that grew downwards in between, or was joined with what lies below it, is told again as it is then: that counts. */
static void drop_told_before(mapped_list *list, uint64_t begin) {
        while (list->n) {
                struct resident_area *last = &list->items[list->n - 1].a;

                if (last->begin + last->size_bytes <= begin)
                        return;
                if (last->begin < begin) {
                        clip(last, begin);
                        return;
                }
                list->n--;
        }
}

static void read_mappings(mapped_list *list, struct resident *r, FILE *smaps) {
        char line[LINE_BYTES];
        struct mapped next;

        for (size_t n = 0; n < SMAPS_MAX_LINES && fgets(line, sizeof(line), smaps); n++) {
                if (!strchr(line, '\n'))
                        skip_line(smaps);
                if (line[0] >= 'A' && line[0] <= 'Z') {
                        if (list->n)
                                mapped_field(&list->items[list->n - 1], line);
                } else if (list->n < SMAPS_MAX_AREAS && mapped_begin(&next, r, line)) {
                        drop_told_before(list, next.a.begin);
                        vec_push(list, next);
                }
        }
}

/* ---- kinds ------------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with) {
        return strncmp(text, with, strlen(with)) == 0;
}

static bool is_own_name(const char *name) {
        const char *slash = strrchr(name, '/');

        return begins(name, "/memfd:silt") || (slash && begins(slash, "/libsilt.so"));
}

static bool is_memory_device(const struct smaps_context *c, uint64_t device) {
        for (size_t i = 0; i < c->memory_devices.n; i++)
                if (c->memory_devices.items[i] == device)
                        return true;
        return false;
}

/* Mappings are cut where its ranges are; where that was not possible, most of it decides. */
static bool is_in_runtime(const struct smaps_context *c, const struct resident_area *a) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < c->n_runtime; i++) {
                uint64_t from = MAX(c->runtime[i].begin, a->begin);
                uint64_t to = MIN(c->runtime[i].end, a->begin + a->size_bytes);

                bytes += to > from ? to - from : 0;
        }
        return bytes >= MAX(a->size_bytes / 2, (uint64_t)1);
}

static bool is_shared_memory(const struct mapped *m, const char *name,
                             const struct smaps_context *c) {
        return !m->is_file || begins(name, "/memfd:") || begins(name, "/SYSV") ||
               begins(name, "/dev/zero") || begins(name, "/dev/shm/") ||
               begins(name, "[anon_shmem") || is_memory_device(c, m->device);
}

static enum resident_kind kind_of(const struct mapped *m, const char *name,
                                  const struct smaps_context *c) {
        if (is_own_name(name) || (c->n_runtime && is_in_runtime(c, &m->a)))
                return RESIDENT_RUNTIME;
        if (m->is_hugetlb || m->hugetlb_bytes)
                return RESIDENT_HUGETLB;
        if (begins(name, "[vdso]") || begins(name, "[vvar") || begins(name, "[vsyscall]") ||
            begins(name, "[sigpage]") || begins(name, "[uprobes]"))
                return RESIDENT_KERNEL;
        if (begins(name, "[stack"))
                return RESIDENT_STACK;
        if (strcmp(name, "[heap]") == 0)
                return RESIDENT_BRK;
        if (m->perms[3] == 's')
                return is_shared_memory(m, name, c) ? RESIDENT_SHARED : RESIDENT_FILE_SHARED;
        return m->is_file ? RESIDENT_FILE_PRIVATE : RESIDENT_ANON;
}

/* Zeroed data of the runtime, which has no name; more than it has is somebody else's that lies behind it. */
static bool is_runtime_data(const struct mapped *m, const struct mapped *before,
                            uint64_t runtime_end) {
        return before->a.kind == RESIDENT_RUNTIME && !m->is_file && m->perms[3] == 'p' &&
               m->a.begin == before->a.begin + before->a.size_bytes && runtime_end &&
               m->a.begin + m->a.size_bytes - runtime_end <= RUNTIME_MAX_DATA_BYTES;
}

static void find_kinds(mapped_list *list, struct resident *r, const struct smaps_context *c) {
        uint64_t runtime_end = 0; /* of the file */

        for (size_t i = 0; i < list->n; i++) {
                struct mapped *m = &list->items[i];

                m->a.kind = kind_of(m, resident_name(r, m->a.name), c);
                if (m->is_file)
                        runtime_end = is_own_name(resident_name(r, m->a.name))
                                              ? m->a.begin + m->a.size_bytes
                                              : 0;
                else if (m->a.kind == RESIDENT_ANON && i > 0 &&
                         is_runtime_data(m, m - 1, runtime_end))
                        m->a.kind = RESIDENT_RUNTIME;
                if (m->a.kind == RESIDENT_HUGETLB)
                        m->a.huge_bytes = m->hugetlb_bytes;
                else
                        m->a.huge_bytes = MIN(m->a.huge_bytes, m->a.rss_bytes);
        }
}

/* ---- what the kernel joined -------------------------------------------------------------------- */

static uint64_t present_bytes(int pagemap_fd, uint64_t begin, uint64_t end, uint64_t page_bytes) {
        static uint64_t entries[READ_PAGES];
        uint64_t bytes = 0;

        for (uint64_t at = begin / page_bytes; at < end / page_bytes;) {
                size_t want = MIN(end / page_bytes - at, (uint64_t)READ_PAGES);
                ssize_t n = pread(pagemap_fd, entries, want * sizeof(entries[0]),
                                  (off_t)(at * sizeof(entries[0])));

                if (n < (ssize_t)sizeof(entries[0]))
                        break;
                n /= (ssize_t)sizeof(entries[0]);
                for (ssize_t i = 0; i < n; i++)
                        bytes += entries[i] & PAGEMAP_PRESENT ? page_bytes : 0;
                at += (uint64_t)n;
        }
        return bytes;
}

static uint64_t part_of(uint64_t bytes, uint64_t part, uint64_t whole) {
        return whole ? (uint64_t)((unsigned __int128)bytes * part / whole) : 0;
}

/* The mapping ends at `at`, and a new one behind it has the rest. What the pages do not tell is shared out as they are. */
static void split(mapped_list *list, size_t i, uint64_t at, const struct smaps_context *c,
                  uint64_t page_bytes) {
        struct mapped second = list->items[i], *first;
        uint64_t whole = second.a.rss_bytes, end = second.a.begin + second.a.size_bytes, rss;

        if (c->pagemap_fd < 0 || list->n >= SMAPS_MAX_AREAS || at <= second.a.begin || at >= end)
                return;
        rss = at - second.a.begin <= end - at
                      ? present_bytes(c->pagemap_fd, second.a.begin, at, page_bytes)
                      : whole - MIN(whole, present_bytes(c->pagemap_fd, at, end, page_bytes));
        rss = MIN(rss, whole);
        vec_push(list, second);
        memmove(&list->items[i + 1], &list->items[i], (list->n - 1 - i) * sizeof(list->items[0]));
        first = &list->items[i];
#define SHARE(field)                                                                               \
        (first->a.field = part_of(second.a.field, rss, whole), second.a.field -= first->a.field)
        SHARE(pss_bytes);
        SHARE(private_dirty_bytes);
        SHARE(anon_bytes);
        SHARE(huge_bytes);
#undef SHARE
        first->a.rss_bytes = rss;
        first->a.swap_bytes = 0; /* not told apart: it stays with the rest */
        first->a.size_bytes = at - first->a.begin;
        second.a.rss_bytes = whole - rss;
        second.a.begin = at;
        second.a.size_bytes = end - at;
        list->items[i + 1] = second;
}

/* The runtime's own memory, and what the program mapped right beside it. */
static void cut_runtime(mapped_list *list, const struct smaps_context *c, uint64_t page_bytes) {
        for (size_t k = 0; k < 2 * c->n_runtime; k++) {
                const struct smaps_range *range = &c->runtime[k / 2];
                uint64_t at = k % 2 ? ALIGN_UP(range->end, page_bytes)
                                    : range->begin / page_bytes * page_bytes;
                size_t low = 0, high = list->n; /* the first that ends behind it */

                while (low < high) {
                        size_t mid = (low + high) / 2;
                        const struct resident_area *a = &list->items[mid].a;

                        if (a->begin + a->size_bytes <= at)
                                low = mid + 1;
                        else
                                high = mid;
                }
                if (low < list->n && !list->items[low].is_file && list->items[low].perms[3] == 'p')
                        split(list, low, at, c, page_bytes);
        }
}

/* ---- zeroed data ------------------------------------------------------------------------------- */

/* Bytes of whole pages that the file's last segment has behind what is in the file. */
static uint64_t zeroed_bytes(const char *root, const char *path, uint64_t page_bytes) {
        Elf64_Phdr ph[MAX_PHDRS];
        _cleanup_close_ int fd = -1;
        uint64_t most = 0;
        char full[RESIDENT_MAX_NAME_BYTES + 80];
        Elf64_Ehdr eh;
        struct stat st;
        size_t n;

        snprintf(full, sizeof(full), "%s%s", root, path);
        if (stat(full, &st) < 0 || !S_ISREG(st.st_mode)) /* the program chose what lies there */
                return 0;
        fd = fs_open(full, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0 || fs_read_at(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
            memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_phentsize != sizeof(ph[0]))
                return 0;
        n = MIN(eh.e_phnum, (uint16_t)MAX_PHDRS);
        if (fs_read_at(fd, ph, n * sizeof(ph[0]), eh.e_phoff) != (ssize_t)(n * sizeof(ph[0])))
                return 0;
        for (size_t i = 0; i < n; i++) {
                uint64_t from = ALIGN_UP(ph[i].p_vaddr + ph[i].p_filesz, page_bytes);
                uint64_t to = ALIGN_UP(ph[i].p_vaddr + ph[i].p_memsz, page_bytes);

                if (ph[i].p_type == PT_LOAD && ph[i].p_memsz > ph[i].p_filesz && to > from)
                        most = MAX(most, to - from);
        }
        return most;
}

/* Private memory right behind a file's writable data, as much as the file says. */
static void find_zeroed(mapped_list *list, struct resident *r, const struct smaps_context *c) {
        for (size_t i = 1; i < list->n; i++) {
                const struct mapped *file = &list->items[i - 1];
                struct mapped *m = &list->items[i];
                uint64_t bytes;

                if (m->a.kind != RESIDENT_ANON || !m->a.rss_bytes || m->is_guard ||
                    (file->a.kind != RESIDENT_FILE_PRIVATE && file->a.kind != RESIDENT_RUNTIME) ||
                    file->a.begin + file->a.size_bytes != m->a.begin ||
                    *resident_name(r, m->a.name))
                        continue;
                bytes = zeroed_bytes(c->root, resident_name(r, file->a.name), r->page_bytes);
                if (!bytes)
                        continue;
                if (bytes < m->a.size_bytes) {
                        split(list, i, m->a.begin + bytes, c, r->page_bytes);
                        if (list->items[i].a.size_bytes != bytes)
                                continue;
                }
                list->items[i].a.name = list->items[i - 1].a.name;
                if (list->items[i - 1].a.kind == RESIDENT_RUNTIME)
                        list->items[i].a.kind = RESIDENT_RUNTIME;
        }
}

/* ---- stacks ------------------------------------------------------------------------------------ */

static bool is_above_guard(const mapped_list *list, size_t i) {
        const struct mapped *m = &list->items[i], *guard = i ? &list->items[i - 1] : NULL;

        return m->a.kind == RESIDENT_ANON && m->is_writable && guard && guard->is_guard &&
               guard->a.begin + guard->a.size_bytes == m->a.begin &&
               guard->a.size_bytes <= GUARD_MAX_BYTES;
}

static uint64_t with_guard_bytes(const mapped_list *list, size_t i) {
        return list->items[i].a.size_bytes + list->items[i - 1].a.size_bytes;
}

/* glibc before 2.27 takes the guard from what a thread is given: told by a stack that is so large with it. */
static bool is_guard_inside(const mapped_list *list, const struct smaps_context *c) {
        for (size_t i = 1; i < list->n; i++) {
                const struct resident_area *a = &list->items[i].a;

                if (is_above_guard(list, i) && with_guard_bytes(list, i) == c->stacks.stack_bytes &&
                    thread_stacks_in(&c->stacks, a->begin, a->begin + a->size_bytes))
                        return true;
        }
        return false;
}

/* What the process gives to a thread. */
struct given_stack {
        uint64_t bytes; /* 0: unknown */
        bool has_guard; /* as a part of them */
};

/* With the guard; 0: unknown. */
static uint64_t given_bytes(const mapped_list *list, size_t i, const struct given_stack *g) {
        return g->bytes ? g->bytes + (g->has_guard ? 0 : list->items[i - 1].a.size_bytes) : 0;
}

/* Something else may follow without a gap. */
static void cut_stack(mapped_list *list, size_t i, const struct smaps_context *c,
                      const struct given_stack *g, uint64_t page_bytes) {
        uint64_t given = given_bytes(list, i, g), begin = list->items[i - 1].a.begin;

        if (given && with_guard_bytes(list, i) > given && given % page_bytes == 0)
                split(list, i, begin + given, c, page_bytes);
}

static void find_known_stacks(mapped_list *list, const struct resident *r,
                              const struct smaps_context *c, const struct given_stack *g) {
        for (size_t i = 0; i < list->n; i++) {
                struct mapped *m = &list->items[i];
                const struct thread_stack *t =
                        thread_stacks_in(&c->stacks, m->a.begin, m->a.begin + m->a.size_bytes);

                if (m->a.kind == RESIDENT_STACK) {
                        m->a.tid = t ? t->tid : 0;
                } else if (t && is_above_guard(list, i)) {
                        cut_stack(list, i, c, g, r->page_bytes);
                        m = &list->items[i];
                        if (t->sp >= m->a.begin + m->a.size_bytes)
                                continue; /* it is another's: what follows */
                        m->a.kind = RESIDENT_STACK;
                        m->a.tid = t->tid;
                }
        }
}

/* As large as one that is known: of a thread that runs at this moment, or kept for the next one. */
static void find_like_stacks(mapped_list *list, const struct smaps_context *c,
                             const struct given_stack *g, uint64_t page_bytes) {
        uint64_t like[16];
        size_t n = 0;

        if (g->bytes)
                like[n++] = 0; /* what the process gives, by the guard of each */
        for (size_t i = 1; i < list->n && n < ARRAY_SIZE(like); i++) {
                bool is_new = list->items[i].a.kind == RESIDENT_STACK &&
                              list->items[i - 1].is_guard && list->items[i].a.tid;

                for (size_t k = 0; k < n && is_new; k++)
                        is_new = like[k] != with_guard_bytes(list, i);
                if (is_new)
                        like[n++] = with_guard_bytes(list, i);
        }
        for (size_t i = 1; i < list->n; i++) {
                if (!is_above_guard(list, i) || list->items[i - 1].a.begin % ARENA_BYTES == 0)
                        continue;
                for (size_t k = 0; k < n; k++) {
                        uint64_t wanted = like[k] ? like[k] : given_bytes(list, i, g);

                        if (with_guard_bytes(list, i) < wanted ||
                            (like[k] && with_guard_bytes(list, i) > wanted))
                                continue;
                        if (with_guard_bytes(list, i) > wanted)
                                cut_stack(list, i, c, g, page_bytes);
                        if (with_guard_bytes(list, i) == wanted)
                                list->items[i].a.kind = RESIDENT_STACK;
                        break;
                }
        }
}

/* ---- arenas ------------------------------------------------------------------------------------ */

#define NARROW_BYTES (1ull << 40)

/* All of glibc's but the first: memory from a multiple of 64 MiB on, and behind it, to the next multiple, what is reserved without rights. They lie where the kernel
 * puts what may lie anywhere: heaps of other languages have that shape at low addresses that they choose themselves. */
static void find_arenas(const mapped_list *list, struct resident *r) {
        uint64_t highest = 0, lowest;

        for (size_t i = 0; i < list->n; i++)
                if (list->items[i].a.begin < INT64_MAX)
                        highest = list->items[i].a.begin;
        /* with 39 bits of addresses (aarch64) Go's heap is at their half */
        lowest = highest < NARROW_BYTES ? highest / 4 * 3 : highest / 3;
        for (size_t i = 1; i < list->n; i++) {
                const struct mapped *used = &list->items[i - 1], *rest = &list->items[i];
                uint64_t end = used->a.begin + used->a.size_bytes;
                uint64_t from = ALIGN_UP(used->a.begin, (uint64_t)ARENA_BYTES);
                uint64_t to = ALIGN_UP(end, (uint64_t)ARENA_BYTES);

                if (used->is_file || strcmp(used->perms, "rw-p") != 0 || !rest->is_guard ||
                    rest->is_file || rest->a.begin != end || end == to ||
                    end + rest->a.size_bytes < to || used->a.begin < lowest)
                        continue;
                for (; from < to && r->arenas.n < MAX_ARENAS; from += ARENA_BYTES)
                        vec_push(&r->arenas, from);
        }
}

/* ---- areas ------------------------------------------------------------------------------------- */

static bool is_alike(const struct resident_area *a, const struct resident_area *b) {
        return a->begin + a->size_bytes == b->begin && a->kind == b->kind && a->name == b->name &&
               a->kind != RESIDENT_STACK;
}

static void put_area(struct resident *r, const struct resident_area *a) {
        struct resident_area *last = r->areas.n ? &r->areas.items[r->areas.n - 1] : NULL;

        r->rss_bytes += a->rss_bytes;
        r->pss_bytes += a->pss_bytes;
        r->swap_bytes += a->swap_bytes;
        if (!last || !is_alike(last, a)) {
                vec_push(&r->areas, *a);
                return;
        }
        last->size_bytes += a->size_bytes;
        last->rss_bytes += a->rss_bytes;
        last->pss_bytes += a->pss_bytes;
        last->private_dirty_bytes += a->private_dirty_bytes;
        last->anon_bytes += a->anon_bytes;
        last->swap_bytes += a->swap_bytes;
        last->huge_bytes += a->huge_bytes;
}

bool resident_smaps(struct resident *r, FILE *smaps, const struct smaps_context *c) {
        mapped_list list = {0};
        struct given_stack given;

        read_mappings(&list, r, smaps);
        find_arenas(&list, r);
        cut_runtime(&list, c, r->page_bytes);
        find_kinds(&list, r, c);
        find_zeroed(&list, r, c);
        given = (struct given_stack){c->stacks.stack_bytes, is_guard_inside(&list, c)};
        find_known_stacks(&list, r, c, &given);
        find_like_stacks(&list, c, &given, r->page_bytes);
        for (size_t i = 0; i < list.n; i++)
                put_area(r, &list.items[i].a);
        vec_free(&list);
        return r->areas.n > 0;
}

/* ---- beside it --------------------------------------------------------------------------------- */

/* "30 25 0:27 / /dev/shm rw,relatime shared:4 - tmpfs tmpfs rw" */
void smaps_read_devices(struct smaps_context *c, FILE *mountinfo) {
        char line[LINE_BYTES];

        while (c->memory_devices.n < SMAPS_MAX_DEVICES && fgets(line, sizeof(line), mountinfo)) {
                const char *dash = strstr(line, " - ");
                unsigned major, minor;

                if (!strchr(line, '\n'))
                        skip_line(mountinfo);
                if (dash && begins(dash, " - tmpfs ") &&
                    sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2)
                        vec_push(&c->memory_devices, (uint64_t)major << 32 | minor);
        }
}

void smaps_context_done(struct smaps_context *c) {
        thread_stacks_done(&c->stacks);
        vec_free(&c->memory_devices);
        if (c->pagemap_fd >= 0)
                close(c->pagemap_fd);
        c->pagemap_fd = -1;
}

static uint64_t status_bytes(const char *text, const char *key) {
        const char *at = strstr(text, key);

        return at ? MIN((uint64_t)strtoull(at + strlen(key), NULL, 10), KB_MAX) * 1024 : 0;
}

void resident_status(struct resident *r, const char *text) {
        r->page_table_bytes = status_bytes(text, "\nVmPTE:");
        r->hugetlb_bytes = status_bytes(text, "\nHugetlbPages:");
        r->locked_bytes = status_bytes(text, "\nVmLck:");
}
