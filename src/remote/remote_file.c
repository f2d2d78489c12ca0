/* SPDX-License-Identifier: MIT */
#include "remote/remote_file.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "remote/remote_code.h"
#include "remote/remote_tables.h"
#include "unwind/arch.h"
#include "unwind/cfi_bytes.h"
#include "unwind/image_row.h"
#include "unwind/instructions.h"

enum {
        PAGE_BYTES = 4096, /* of the copy: what is read of code at once */
        PHDRS_MAX = 128,
        LOADS_MAX = 16,
        NOTES_MAX_BYTES = 64 << 10,
        CALL_BYTES = 6,  /* the longest that says where it goes */
        SUB_BYTES = 7,   /* sub $N,%rsp */
        NEAR_BYTES = 64, /* of code around a key that tables speak of */
        ROWS_MAX = 1 << 22,
        FDS_FEW = 256,                 /* so many descriptors are no matter */
        CODE_ALL_MAX_BYTES = 32 << 20, /* of a file whose code is read at once otherwise */
};
#define SPAN_MAX_BYTES (UINT64_C(8) << 30)

#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif

struct segment {
        uint64_t vaddr, file_off, file_bytes, memory_bytes;
        bool is_code;
};

struct remote_file {
        struct remote_bytes from; /* owned */
        struct segment loads[LOADS_MAX];
        uint32_t n_loads;
        uint64_t begin, end; /* extent of the segments, addresses in the file; begin is a page's */
        uint64_t entry;
        uint8_t build_id[32];
        uint32_t build_id_len;

        uint8_t *
                copy; /* of the address space of the file, page by page as it is needed; behind it, what was made */
        uint64_t n_copy_bytes;
        uint64_t *has_page;
        struct cfi_image image; /* addresses in copy */
        struct map rows;        /* key, address in the file → row */
};

/* ---- reading ------------------------------------------------------------------------------ */

static uint64_t to_copy(const struct remote_file *f, uint64_t vaddr) {
        return (uint64_t)f->copy + (vaddr - f->begin);
}

/* The part of a segment's file bytes in [begin, end), both addresses in the file, into the copy. */
static void fill_from(struct remote_file *f, const struct segment *s, uint64_t begin,
                      uint64_t end) {
        uint64_t from = MAX(begin, s->vaddr), to = MIN(end, s->vaddr + s->file_bytes);

        /* what is not there stays 0: code of a file that was cut */
        if (from < to)
                remote_bytes_read(&f->from, f->copy + (from - f->begin), to - from,
                                  s->file_off + (from - s->vaddr));
}

static void fill_page(struct remote_file *f, uint64_t page) {
        uint64_t begin = f->begin + page * PAGE_BYTES;

        for (uint32_t i = 0; i < f->n_loads; i++)
                fill_from(f, &f->loads[i], begin, begin + PAGE_BYTES);
        f->has_page[page / 64] |= UINT64_C(1) << page % 64;
}

/* Code of [begin, end), addresses in the file, is to be looked at. */
static void need_code(struct remote_file *f, uint64_t begin, uint64_t end) {
        begin = MAX(begin, f->begin);
        end = MIN(end, f->end);
        if (begin >= end)
                return;
        for (uint64_t p = (begin - f->begin) / PAGE_BYTES; p <= (end - 1 - f->begin) / PAGE_BYTES;
             p++)
                if (!(f->has_page[p / 64] >> p % 64 & 1))
                        fill_page(f, p);
}

static void need_code_around(struct remote_file *f, uint64_t addr, uint64_t n_bytes) {
        need_code(f, addr > n_bytes ? addr - n_bytes : 0, addr + n_bytes);
}

/* ---- headers ------------------------------------------------------------------------------ */

/* What begins in the middle of a page is mapped from the page's beginning on. */
static uint64_t page_of(uint64_t n) {
        return n & -(uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_load(struct remote_file *f, const Elf64_Phdr *p) {
        uint64_t end;

        if (f->n_loads == LOADS_MAX || p->p_memsz == 0 || p->p_filesz > p->p_memsz ||
            __builtin_add_overflow(p->p_vaddr, p->p_memsz, &end))
                return;
        f->loads[f->n_loads++] = (struct segment){p->p_vaddr, p->p_offset, p->p_filesz, p->p_memsz,
                                                  (p->p_flags & (PF_R | PF_X)) == (PF_R | PF_X)};
        f->begin = MIN(f->begin, page_of(p->p_vaddr));
        f->end = MAX(f->end, end);
}

/* Names and contents are padded to 4 bytes, or to 8 in segments that say so. */
static void read_notes(struct remote_file *f, const Elf64_Phdr *p) {
        uint64_t align = p->p_align == 8 ? 8 : 4, n = p->p_filesz, at = 0;
        _cleanup_free_ uint8_t *notes = NULL;

        if (f->build_id_len || n < sizeof(Elf64_Nhdr) || n > NOTES_MAX_BYTES)
                return;
        notes = malloc(n);
        if (!notes || !remote_bytes_read(&f->from, notes, n, p->p_offset))
                return;
        while (n - at >= sizeof(Elf64_Nhdr)) {
                Elf64_Nhdr h;
                uint64_t name, desc, next;

                memcpy(&h, notes + at, sizeof(h));
                name = at + sizeof(h);
                desc = name + ALIGN_UP((uint64_t)h.n_namesz, align);
                next = desc + ALIGN_UP((uint64_t)h.n_descsz, align);
                if (desc + h.n_descsz > n)
                        return;
                if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && h.n_descsz > 0 &&
                    memcmp(notes + name, "GNU", 4) == 0) {
                        f->build_id_len = MIN(h.n_descsz, (uint32_t)sizeof(f->build_id));
                        memcpy(f->build_id, notes + desc, f->build_id_len);
                        return;
                }
                if (next >= n)
                        return;
                at = next;
        }
}

static bool read_headers(struct remote_file *f, Elf64_Ehdr *eh, Elf64_Phdr *ret_tables) {
        Elf64_Phdr phdrs[PHDRS_MAX];

        if (!remote_bytes_read(&f->from, eh, sizeof(*eh), 0) ||
            memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
            eh->e_ident[EI_DATA] != ELFDATA2LSB || eh->e_machine != MACHINE ||
            eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phnum == 0 || eh->e_phnum > PHDRS_MAX ||
            !remote_bytes_read(&f->from, phdrs, eh->e_phnum * sizeof(Elf64_Phdr), eh->e_phoff))
                return false;
        f->entry = eh->e_entry;
        f->begin = UINT64_MAX;
        for (unsigned i = 0; i < eh->e_phnum; i++) {
                if (phdrs[i].p_type == PT_LOAD)
                        add_load(f, &phdrs[i]);
                else if (phdrs[i].p_type == PT_GNU_EH_FRAME)
                        *ret_tables = phdrs[i];
                else if (phdrs[i].p_type == PT_NOTE)
                        read_notes(f, &phdrs[i]);
        }
        return f->n_loads > 0 && f->end - f->begin <= SPAN_MAX_BYTES;
}

/* ---- tables ------------------------------------------------------------------------------- */

static const struct segment *segment_of(const struct remote_file *f, uint64_t vaddr) {
        for (uint32_t i = 0; i < f->n_loads; i++)
                if (vaddr >= f->loads[i].vaddr &&
                    vaddr - f->loads[i].vaddr < f->loads[i].file_bytes)
                        return &f->loads[i];
        return NULL;
}

static void add_range(struct remote_file *f, uint64_t vaddr, uint64_t n_bytes, bool is_code) {
        uint64_t at = to_copy(f, vaddr);

        f->image.ranges[f->image.n_ranges++] = (struct cfi_range){at, at + n_bytes, is_code};
}

/* A table at vaddr, n_bytes of it at most. False: it lies in no segment. */
static bool load_table(struct remote_file *f, uint64_t vaddr, uint64_t n_bytes) {
        const struct segment *s = segment_of(f, vaddr);

        if (!s)
                return false;
        n_bytes = MIN(MIN(n_bytes, s->vaddr + s->file_bytes - vaddr), REMOTE_TABLE_MAX_BYTES);
        fill_from(f, s, vaddr, vaddr + n_bytes);
        add_range(f, vaddr, n_bytes, false);
        return true;
}

/* .eh_frame_hdr, whose extent a segment says, and .eh_frame, which it points to. */
static void load_tables(struct remote_file *f, const struct remote_section *frames,
                        const Elf64_Phdr *hdr) {
        uint64_t at = to_copy(f, hdr->p_vaddr), begin, n_bytes = UINT64_MAX;
        struct cfi_bytes b;
        uint8_t frame_enc;

        if (hdr->p_filesz == 0 || !load_table(f, hdr->p_vaddr, hdr->p_filesz))
                return;
        b = (struct cfi_bytes){(const uint8_t *)at, (const uint8_t *)f->image.ranges[0].end, false};
        cfi_bytes_u8(&b);
        frame_enc = cfi_bytes_u8(&b);
        cfi_bytes_skip(&b, 2);
        begin = cfi_bytes_pointer(&b, frame_enc, at);
        if (b.bad)
                return;
        begin = begin - (uint64_t)f->copy + f->begin;
        if (frames->n_bytes && frames->vaddr == begin)
                n_bytes = frames->n_bytes;
        if (load_table(f, begin, n_bytes))
                f->image.eh_frame_hdr = at;
}

/* A file without .eh_frame_hdr gets one, behind all else. */
struct missing {
        struct remote_section frames, debug; /* n_bytes is 0: none */
};

static uint64_t missing_bytes(const struct missing *m) {
        uint64_t n = m->frames.n_bytes + m->debug.n_bytes;

        return n ? ALIGN_UP(m->debug.n_bytes, (uint64_t)8) + remote_tables_bound(n) : 0;
}

static void make_tables(struct remote_file *f, const struct missing *m) {
        uint64_t begin = (uint64_t)f->copy, end = begin + (f->end - f->begin);
        uint8_t *debug = f->copy + f->n_copy_bytes - missing_bytes(m);
        uint8_t *hdr = debug + ALIGN_UP(m->debug.n_bytes, (uint64_t)8);
        size_t cap = missing_bytes(m) ? (size_t)(f->copy + f->n_copy_bytes - hdr) : 0, n;
        remote_fdes fdes = {0};

        if (m->frames.n_bytes && load_table(f, m->frames.vaddr, m->frames.n_bytes)) {
                const struct cfi_range *r = &f->image.ranges[f->image.n_ranges - 1];

                remote_tables_list(&f->image, (const uint8_t *)r->begin, r->end - r->begin, begin,
                                   end, &fdes);
        }
        if (m->debug.n_bytes && remote_tables_read(&f->from, &m->debug, debug)) {
                f->image.ranges[f->image.n_ranges++] =
                        (struct cfi_range){(uint64_t)debug, (uint64_t)debug + m->debug.n_bytes,
                                           false};
                remote_tables_convert(debug, m->debug.n_bytes, begin - f->begin);
                remote_tables_list(&f->image, debug, m->debug.n_bytes, begin, end, &fdes);
        }
        n = remote_tables_write(&fdes, hdr, cap);
        if (n) {
                f->image.ranges[f->image.n_ranges++] =
                        (struct cfi_range){(uint64_t)hdr, (uint64_t)hdr + n, false};
                f->image.eh_frame_hdr = (uint64_t)hdr;
        }
        vec_free(&fdes);
}

static bool open_file(struct remote_file *f) {
        Elf64_Phdr hdr = {0};
        struct missing missing = {0};
        Elf64_Ehdr eh;
        uint64_t n_pages;

        if (!read_headers(f, &eh, &hdr))
                return false;
        if (!remote_tables_section(&f->from, &eh, ".eh_frame", &missing.frames))
                missing.frames.n_bytes = 0;
        if (hdr.p_filesz != 0 ||
            !remote_tables_section(&f->from, &eh, ".debug_frame", &missing.debug))
                missing.debug.n_bytes = 0;
        n_pages = (f->end - f->begin + PAGE_BYTES - 1) / PAGE_BYTES;
        f->n_copy_bytes = n_pages * PAGE_BYTES;
        if (hdr.p_filesz == 0)
                f->n_copy_bytes += ALIGN_UP(missing_bytes(&missing), (uint64_t)PAGE_BYTES);
        f->copy = mmap(NULL, f->n_copy_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (f->copy == MAP_FAILED) {
                f->copy = NULL;
                return false;
        }
        f->has_page = calloc(n_pages / 64 + 1, sizeof(uint64_t));
        if (!f->has_page)
                return false;
        if (hdr.p_filesz != 0)
                load_tables(f, &missing.frames, &hdr);
        else
                make_tables(f, &missing);
        for (uint32_t i = 0; i < f->n_loads && f->image.n_ranges < CFI_RANGES_MAX; i++)
                if (f->loads[i].is_code)
                        add_range(f, f->loads[i].vaddr, f->loads[i].memory_bytes, true);
        return true;
}

/* A program may map more files than this one may have open. */
static void close_if_many(struct remote_file *f) {
        uint64_t n_bytes = 0;

        for (uint32_t i = 0; i < f->n_loads; i++)
                n_bytes += f->loads[i].is_code ? f->loads[i].file_bytes : 0;
        if (f->from.fd < FDS_FEW || n_bytes > CODE_ALL_MAX_BYTES)
                return;
        for (uint32_t i = 0; i < f->n_loads; i++)
                if (f->loads[i].is_code)
                        need_code(f, f->loads[i].vaddr, f->loads[i].vaddr + f->loads[i].file_bytes);
        close(f->from.fd);
        f->from.fd = -1;
}

struct remote_file *remote_file_new(int fd) {
        _cleanup_(remote_file_freep) struct remote_file *f = calloc(1, sizeof(*f));

        if (!f) {
                close(fd);
                return NULL;
        }
        f->from.fd = fd;
        if (!open_file(f))
                return NULL;
        close_if_many(f);
        return TAKE_PTR(f);
}

struct remote_file *remote_file_new_from(const void *bytes, size_t n_bytes) {
        _cleanup_(remote_file_freep) struct remote_file *f = calloc(1, sizeof(*f));
        uint8_t *copy = malloc(n_bytes + !n_bytes);

        if (!f || !copy) {
                free(copy);
                return NULL;
        }
        memcpy(copy, bytes, n_bytes);
        f->from = (struct remote_bytes){-1, copy, n_bytes};
        return open_file(f) ? TAKE_PTR(f) : NULL;
}

struct remote_file *remote_file_free(struct remote_file *f) {
        if (!f)
                return NULL;
        if (f->copy)
                munmap(f->copy, f->n_copy_bytes);
        if (f->from.fd >= 0)
                close(f->from.fd);
        map_done(&f->rows);
        free(f->has_page);
        free((void *)f->from.bytes);
        free(f);
        return NULL;
}

/* ---- answers ------------------------------------------------------------------------------ */

uint32_t remote_file_build_id(const struct remote_file *f, uint8_t ret[32]) {
        memcpy(ret, f->build_id, sizeof(f->build_id));
        return f->build_id_len;
}

uint64_t remote_file_size_bytes(const struct remote_file *f) {
        return f->end - f->begin;
}

bool remote_file_bias(const struct remote_file *f, uint64_t begin, uint64_t file_offset,
                      uint64_t *ret_bias) {
        for (uint32_t i = 0; i < f->n_loads; i++) {
                const struct segment *s = &f->loads[i];

                if (!s->is_code || file_offset < page_of(s->file_off) ||
                    file_offset >= s->file_off + s->file_bytes)
                        continue;
                *ret_bias = begin - file_offset + s->file_off - s->vaddr;
                return true;
        }
        return false;
}

/* Most rows are those of the tables, in the middle of a function: no need to see its code. */
static row_t find_row(struct remote_file *f, uint64_t key, bool is_exact) {
        const uint64_t entries[2] = {f->entry ? to_copy(f, f->entry) : 0, 0};
        uint64_t at = to_copy(f, key);
        struct cfi_answer a;
        row_t row;
        int r = cfi_find(&f->image, at, &a);

        if (r == 0 && !(a.row & (ROW_SIGNAL | ROW_UNSUPPORTED)) && a.row != ROW_END &&
            a.fde_end != at + 1)
                return a.row;
        need_code_around(f, key,
                         r < 0 || a.row == ROW_END ? CODE_SCAN_MAX_BYTES + NEAR_BYTES : NEAR_BYTES);
        row = image_row(&f->image, at, entries);
        /* most such code is left by what is behind a call; here it may be anywhere */
        return is_exact && r < 0 && (row & ROW_UNSUPPORTED) ? remote_code_row(&f->image, at) : row;
}

row_t remote_file_row(struct remote_file *f, uint64_t key, bool is_exact) {
        uint64_t row;

        if (key < f->begin || key >= f->end)
                return ROW_NO_CFI;
        /* a key is on the last byte of a call, or on an instruction's first: never both, for calls have more than one */
        if (map_get(&f->rows, key, &row))
                return row;
        if (f->rows.n >= ROWS_MAX)
                map_clear(&f->rows);
        row = find_row(f, key, is_exact);
        map_put(&f->rows, key, row, NULL);
        return row;
}

bool remote_file_is_after_call(struct remote_file *f, uint64_t addr) {
        if (addr < f->begin || addr >= f->end)
                return false;
        need_code_around(f, addr, NEAR_BYTES);
        return code_is_after_call(&f->image, to_copy(f, addr));
}

uint64_t remote_file_function(struct remote_file *f, uint64_t key) {
        struct cfi_answer a;

        if (key < f->begin || key >= f->end || cfi_find(&f->image, to_copy(f, key), &a) < 0)
                return 0;
        return a.fde_begin - (uint64_t)f->copy + f->begin;
}

uint64_t remote_file_room(struct remote_file *f, uint64_t function) {
#if defined(__aarch64__)
        (void)f;
        (void)function;
        return 0;
#else
        static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
        static const uint8_t first[] = {0x55, 0x48, 0x89, 0xe5};   /* push %rbp; mov %rsp,%rbp */
        const uint8_t *at, *last; /* what is longer than any that begins there is not read */
        uint64_t room = 0;
        uint32_t more;

        if (function < f->begin || function > f->end || f->end - function < NEAR_BYTES)
                return 0;
        need_code_around(f, function, NEAR_BYTES);
        at = (const uint8_t *)to_copy(f, function);
        last = at + NEAR_BYTES - SUB_BYTES;
        if (memcmp(at, landing, sizeof(landing)) == 0)
                at += sizeof(landing);
        if (memcmp(at, first, sizeof(first)) != 0)
                return 0;
        at += sizeof(first);
        for (; at <= last && ((at[0] & 0xf8) == 0x50 || (at[0] == 0x41 && (at[1] & 0xf8) == 0x50));
             room += 8)
                at += at[0] == 0x41 ? 2 : 1; /* push */
        if (at > last)
                return 0;
        if (at[0] == 0x48 && at[1] == 0x83 && at[2] == 0xec) /* sub $N,%rsp */
                return room + at[3];
        memcpy(&more, at + 3, sizeof(more));
        return at[0] == 0x48 && at[1] == 0x81 && at[2] == 0xec ? room + more : room;
#endif
}

/* How far the target is from the end of a call that says so itself, or the word that has it. */
static bool call_distance(const uint8_t *end, int64_t *ret, bool *ret_is_word) {
        int32_t distance;

        memcpy(&distance, end - sizeof(distance), sizeof(distance));
#if defined(__aarch64__)
        *ret_is_word = false;
        *ret = (int64_t)((int32_t)((uint32_t)distance << 6) >> 6) * 4 - 4;
        return (uint32_t)distance >> 26 == 0x25; /* bl */
#else
        *ret_is_word = end[-6] == 0xff && end[-5] == 0x15; /* call *distance(%rip) */
        *ret = distance;
        return *ret_is_word || end[-5] == 0xe8;
#endif
}

uint64_t remote_file_called(struct remote_file *f, uint64_t addr, bool *ret_is_word) {
        int64_t distance;

        if (addr < f->begin + CALL_BYTES || !remote_file_is_after_call(f, addr) ||
            !call_distance((const uint8_t *)to_copy(f, addr), &distance, ret_is_word))
                return 0;
        return addr + (uint64_t)distance;
}

bool remote_file_is_lazy_call(struct remote_file *f, uint64_t addr) {
        if (addr < f->begin || addr >= f->end)
                return false;
        need_code_around(f, addr, NEAR_BYTES);
        return remote_code_is_lazy_call(&f->image, to_copy(f, addr));
}

bool remote_file_is_in_vfork(struct remote_file *f, uint64_t addr) {
        if (addr < f->begin || addr >= f->end)
                return false;
        need_code_around(f, addr, NEAR_BYTES);
        return remote_code_is_in_vfork(&f->image, to_copy(f, addr));
}
