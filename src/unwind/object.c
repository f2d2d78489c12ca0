/* SPDX-License-Identifier: MIT */
/* The table for older C libraries is written by one thread at a time and read without a lock: a
 * reader copies the entry it wants and takes the copy only if table_version was even and the same
 * before and after (a sequence lock). */

#include "unwind/object.h"

#include <elf.h>
#include <link.h>

/* As in glibc 2.35's <dlfcn.h>, so that this compiles with older headers too. Neither aarch64 nor
 * x86_64 has members between eh_frame and the reserved words. */
struct found_object {
        unsigned long long flags;
        void *map_start, *map_end;
        struct link_map *link_map;
        void *eh_frame_hdr;
        unsigned long long reserved[7];
};

/* Weak: nothing that libsilt.so can do without may keep it from loading. */
#pragma weak dl_iterate_phdr

/* What is known of an object before its headers are read. */
struct entry {
        uint64_t base, begin, end;
        uint64_t eh_frame_hdr;
        uint64_t phdrs; /* 0: behind the ELF header at begin */
        uint64_t n_phdrs;
        uint64_t name;
};

enum {
        TABLE_MAX = 2048,
        TABLE_TRIES = 16, /* a reader gives up when the table keeps changing */
        ELF_HEADERS_MAX_BYTES = 4096,
        ENTRY_WORDS = sizeof(struct entry) / sizeof(uint64_t),
};

static int (*find_object)(void *pc, struct found_object *ret); /* NULL: the loader has none */
static struct entry vdso;
static uint64_t main_phdrs, n_main_phdrs; /* the executable's, where the kernel put them */

/* written by the holder of table_busy; read by anyone, see the top */
static struct entry table[TABLE_MAX];
static uint32_t n_table;
static uint32_t table_version; /* odd while the table is being written */
static uint32_t table_busy;    /* 1: a refresh runs, 2: it must run once more */

/* ---- headers ---------------------------------------------------------------------------- */

/* The program headers of an object mapped at begin; NULL if there is no ELF header there. */
static const ElfW(Phdr) * headers_at(uint64_t begin, uint64_t *ret_n) {
        const ElfW(Ehdr) *eh = (const ElfW(Ehdr) *)begin;

        if (eh->e_ident[EI_MAG0] != ELFMAG0 || eh->e_ident[EI_MAG1] != ELFMAG1 ||
            eh->e_ident[EI_MAG2] != ELFMAG2 || eh->e_ident[EI_MAG3] != ELFMAG3 ||
            eh->e_phentsize != sizeof(ElfW(Phdr)) || eh->e_phoff % 8 != 0 ||
            eh->e_phoff > ELF_HEADERS_MAX_BYTES ||
            eh->e_phoff + eh->e_phnum * sizeof(ElfW(Phdr)) > ELF_HEADERS_MAX_BYTES)
                return NULL;
        *ret_n = eh->e_phnum;
        return (const ElfW(Phdr) *)(begin + eh->e_phoff);
}

/* Only readable segments count: between segments an object may have holes. */
static void read_ranges(const struct entry *e, struct cfi_image *ret) {
        const ElfW(Phdr) *phdrs = (const ElfW(Phdr) *)e->phdrs;
        uint64_t n_phdrs = e->n_phdrs;
        uint32_t n = 0;

        if (!phdrs)
                phdrs = headers_at(e->begin, &n_phdrs);
        for (uint64_t i = 0; phdrs && i < n_phdrs && n < CFI_RANGES_MAX; i++) {
                uint64_t begin = e->base + phdrs[i].p_vaddr;

                if (phdrs[i].p_type != PT_LOAD || !(phdrs[i].p_flags & PF_R))
                        continue;
                ret->ranges[n].begin = begin;
                ret->ranges[n].end = begin + phdrs[i].p_memsz;
                ret->ranges[n].is_code = phdrs[i].p_flags & PF_X;
                n++;
        }
        if (!phdrs) {
                ret->ranges[0] = (struct cfi_range){e->begin, e->end, false};
                n = 1;
        }
        ret->n_ranges = n;
}

/* base, begin, end and eh_frame_hdr from program headers. */
static void entry_from_headers(struct entry *e, const ElfW(Phdr) * phdrs, uint64_t n_phdrs) {
        e->begin = UINT64_MAX;
        e->end = 0;
        for (uint64_t i = 0; i < n_phdrs; i++) {
                uint64_t begin = e->base + phdrs[i].p_vaddr;
                uint64_t end = begin + phdrs[i].p_memsz;

                if (phdrs[i].p_type == PT_LOAD) {
                        e->begin = begin < e->begin ? begin : e->begin;
                        e->end = end > e->end ? end : e->end;
                } else if (phdrs[i].p_type == PT_GNU_EH_FRAME) {
                        e->eh_frame_hdr = begin;
                }
        }
}

/* The vdso is linked at 0 or, on some kernels, elsewhere: its first segment tells. */
static void vdso_read(uint64_t at) {
        uint64_t n_phdrs = 0;
        const ElfW(Phdr) *phdrs = headers_at(at, &n_phdrs);
        struct entry e = {.name = (uint64_t) "linux-vdso.so.1"};

        for (uint64_t i = 0; i < n_phdrs; i++)
                if (phdrs[i].p_type == PT_LOAD) {
                        e.base = at - phdrs[i].p_vaddr;
                        break;
                }
        entry_from_headers(&e, phdrs, n_phdrs);
        vdso = e;
}

/* ---- finding ------------------------------------------------------------------------------ */

static void entry_copy(struct entry *to, const struct entry *from) {
        for (uint32_t i = 0; i < ENTRY_WORDS; i++)
                /* relaxed: the fences around table_version order these */
                __atomic_store_n((uint64_t *)to + i,
                                 __atomic_load_n((const uint64_t *)from + i, __ATOMIC_RELAXED),
                                 __ATOMIC_RELAXED);
}

static bool table_try(uint64_t pc, struct entry *ret, bool *ret_found) {
        /* acquire: the entries are read after it. Pairs with the release in table_end. */
        uint32_t before = __atomic_load_n(&table_version, __ATOMIC_ACQUIRE);
        uint32_t n = __atomic_load_n(&n_table, __ATOMIC_RELAXED);

        *ret_found = false;
        for (uint32_t i = 0; i < n && i < TABLE_MAX && !*ret_found; i++) {
                uint64_t begin = __atomic_load_n(&table[i].begin, __ATOMIC_RELAXED);
                uint64_t end = __atomic_load_n(&table[i].end, __ATOMIC_RELAXED);

                if (pc >= begin && pc < end) {
                        entry_copy(ret, &table[i]);
                        *ret_found = true;
                }
        }
        /* the fence keeps the reads above before the second look at the version */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        return before % 2 == 0 && before == __atomic_load_n(&table_version, __ATOMIC_RELAXED);
}

static bool table_find(uint64_t pc, struct entry *ret) {
        bool found;

        for (int i = 0; i < TABLE_TRIES; i++)
                if (table_try(pc, ret, &found))
                        return found;
        return false;
}

static bool entry_find(uint64_t pc, struct entry *ret) {
        struct found_object f;

        if (find_object && find_object((void *)pc, &f) == 0) {
                *ret = (struct entry){
                        .base = f.link_map->l_addr,
                        .begin = (uint64_t)f.map_start,
                        .end = (uint64_t)f.map_end,
                        .eh_frame_hdr = (uint64_t)f.eh_frame_hdr,
                        .name = (uint64_t)f.link_map->l_name,
                };
                return true;
        }
        if (!find_object && table_find(pc, ret))
                return true;
        if (pc >= vdso.begin && pc < vdso.end) {
                *ret = vdso;
                return true;
        }
        return false;
}

bool object_known(uint64_t pc) {
        struct found_object f;
        struct entry e;

        if (find_object && find_object((void *)pc, &f) == 0)
                return true;
        return entry_find(pc, &e);
}

static bool headers_cover(const ElfW(Phdr) * phdrs, uint64_t n_phdrs, uint64_t base,
                          uint64_t addr) {
        for (uint64_t i = 0; i < n_phdrs; i++)
                if (phdrs[i].p_type == PT_LOAD && addr - base - phdrs[i].p_vaddr < phdrs[i].p_memsz)
                        return true;
        return false;
}

/* Of an executable with a hole between its segments (lld leaves one of a page, other linkers where
 * they were told an address) _dl_find_object gives the one segment that pc is in, which has neither
 * the ELF header nor the tables. That happens to what the kernel mapped alone: the loader reserves
 * the whole of an object before it maps its segments. */
static void entry_complete(struct entry *e, uint64_t pc) {
        const ElfW(Phdr) *phdrs = (const ElfW(Phdr) *)main_phdrs;

        if (e->phdrs != 0 || !headers_cover(phdrs, n_main_phdrs, e->base, pc) ||
            !headers_cover(phdrs, n_main_phdrs, e->base, main_phdrs))
                return;
        e->phdrs = main_phdrs;
        e->n_phdrs = n_main_phdrs;
        entry_from_headers(e, phdrs, n_main_phdrs);
}

bool object_find(uint64_t pc, struct object *ret) {
        struct entry e;

        if (!entry_find(pc, &e))
                return false;
        entry_complete(&e, pc);
        ret->module = (struct unwind_module){
                .base = e.base,
                .begin = e.begin,
                .end = e.end,
                .name = e.name ? (const char *)e.name : "",
        };
        ret->image.eh_frame_hdr = e.eh_frame_hdr;
        read_ranges(&e, &ret->image);
        return true;
}

/* ---- the table of older C libraries --------------------------------------------------------- */

static int table_add(struct dl_phdr_info *info, size_t size_bytes, void *n_used) {
        struct entry e = {
                .base = info->dlpi_addr,
                .phdrs = (uint64_t)info->dlpi_phdr,
                .n_phdrs = info->dlpi_phnum,
                .name = (uint64_t)info->dlpi_name,
        };
        uint32_t *n = n_used;

        if (*n == TABLE_MAX)
                return 1;
        entry_from_headers(&e, info->dlpi_phdr, info->dlpi_phnum);
        if (e.begin < e.end)
                entry_copy(&table[(*n)++], &e);
        return 0;
}

static void table_write(void) {
        uint32_t n = 0;

        __atomic_store_n(&table_version, table_version + 1, __ATOMIC_RELAXED);
        /* the fence keeps the odd version before the entries that follow */
        __atomic_thread_fence(__ATOMIC_RELEASE);
        if (dl_iterate_phdr)
                dl_iterate_phdr(table_add, &n);
        __atomic_store_n(&n_table, n, __ATOMIC_RELAXED);
        /* release: the entries are seen before the even version. Pairs with table_try. */
        __atomic_store_n(&table_version, table_version + 1, __ATOMIC_RELEASE);
}

/* A thread that comes while another refreshes leaves the work to it, and says that there is more. */
void object_refresh(void) {
        uint32_t state = 0;

        if (find_object)
                return;
        if (!__atomic_compare_exchange_n(&table_busy, &state, 1, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED)) {
                state = 1;
                if (__atomic_compare_exchange_n(&table_busy, &state, 2, false, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED) ||
                    state == 2)
                        return;
                object_refresh(); /* it ended in between */
                return;
        }
        for (;;) {
                table_write();
                state = 1;
                if (__atomic_compare_exchange_n(&table_busy, &state, 0, false, __ATOMIC_RELEASE,
                                                __ATOMIC_RELAXED))
                        return;
                __atomic_store_n(&table_busy, 1, __ATOMIC_RELAXED);
        }
}

void object_init(const struct unwind_env *env) {
        find_object = (int (*)(void *, struct found_object *))env->find_object;
        main_phdrs = env->main_phdrs;
        n_main_phdrs = env->main_phdrs ? env->n_main_phdrs : 0;
#ifdef SILT_UNWIND_NO_FIND_OBJECT /* tests of the table on a C library that does not need it */
        find_object = NULL;
#endif
        if (env->vdso_begin != 0)
                vdso_read(env->vdso_begin);
}
