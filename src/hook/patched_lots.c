/* SPDX-License-Identifier: MIT */
/* What belongs to whom: each object that was patched has a lot, with room for code, and entries that say so. */
#include "hook/patched_heap.h"
#include "hook/patched_table.h"
#include "wire/attach_message.h"
#include "wire/sys.h"

struct patched_lot {
        uint64_t room, room_bytes; /* 0: it could not be had */
        uint64_t name_hash;        /* of the object */
        uintptr_t base;            /* where it is, or was */
        bool is_used;
        bool is_lasting; /* of the objects that the image began with: they never go */
        bool is_gone;    /* its object was closed, and may come back */
};

static struct patched_lot patched_lots[PATCHED_MAX_LOTS];
static uint8_t patched_lot_of[WIRE_PLAN_MAX_ENTRIES]; /* lot + 1; 0: the entry is free */
static struct code_range patched_program;             /* one at fixed addresses; empty: it is not */
extern struct r_debug _r_debug;

/* ---- objects ----------------------------------------------------------------------------- */

uint64_t patched_name_hash(const char *name) {
        uint64_t hash = WIRE_NAME_HASH;

        for (; *name; name++)
                hash = wire_hash(hash, (uint8_t)*name);
        return hash;
}

void patched_know_program(const struct dl_phdr_info *info) {
        if (info->dlpi_addr)
                return;
        patched_program.begin = UINTPTR_MAX;
        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

                if (ph->p_type != PT_LOAD)
                        continue;
                if (ph->p_vaddr < patched_program.begin)
                        patched_program.begin = ph->p_vaddr;
                if (ph->p_vaddr + ph->p_memsz > patched_program.end)
                        patched_program.end = ph->p_vaddr + ph->p_memsz;
        }
}

const struct link_map *patched_object_at(uintptr_t addr) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
                struct code_range range = m->l_addr ? real_image_range(m->l_addr) : patched_program;

                if (code_range_has(&range, addr))
                        return m;
        }
        return NULL;
}

static bool patched_is_of(const struct patched_lot *lot, const struct link_map *m) {
        return lot->is_used && lot->base == m->l_addr &&
               lot->name_hash == patched_name_hash(m->l_name);
}

static bool patched_is_loaded(const struct patched_lot *lot) {
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
                if (patched_is_of(lot, m))
                        return true;
        return false;
}

/* ---- lots -------------------------------------------------------------------------------- */

uint32_t patched_find_free(uint32_t *ret_n) {
        uint32_t first = 0;

        *ret_n = 0;
        for (uint32_t i = 0, n = 0; i < WIRE_PLAN_MAX_ENTRIES; i++) {
                n = patched_lot_of[i] ? 0 : n + 1;
                if (n > *ret_n) {
                        *ret_n = n;
                        first = i + 1 - n;
                }
        }
        return first;
}

void patched_free_lot(unsigned lot) {
        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++)
                if (patched_lot_of[i] == lot + 1) {
                        patched_heap_forget(&patched_entries[i]);
                        patched_writes[i].n_bytes = 0;
                        patched_lot_of[i] = 0;
                }
        if (patched_lots[lot].room_bytes &&
            !__atomic_load_n(&patched_guard.keeps_rooms, __ATOMIC_SEQ_CST))
                sys_munmap((void *)patched_lots[lot].room, patched_lots[lot].room_bytes);
        patched_lots[lot].is_used = false;
}

void patched_free_closed(void) {
        for (unsigned i = 0; i < PATCHED_MAX_LOTS; i++)
                if (patched_lots[i].is_used && !patched_lots[i].is_lasting &&
                    !patched_is_loaded(&patched_lots[i]))
                        patched_free_lot(i);
}

unsigned patched_take_lot(const struct wire_plan_section *room, bool is_lasting) {
        for (unsigned i = 0; i < PATCHED_MAX_LOTS; i++)
                if (!patched_lots[i].is_used) {
                        patched_lots[i] =
                                (struct patched_lot){.is_used = true, .is_lasting = is_lasting};
                        if (room) {
                                patched_lots[i].room = room->addr;
                                patched_lots[i].room_bytes = room->n_bytes;
                        }
                        return i;
                }
        return PATCHED_MAX_LOTS;
}

bool patched_join_lot(uint32_t entry, unsigned lot, uint64_t at) {
        struct patched_lot *l = &patched_lots[lot];
        const struct link_map *m = l->name_hash ? NULL : patched_object_at(at);

        if (m) {
                l->base = m->l_addr;
                l->name_hash = patched_name_hash(m->l_name);
        }
        patched_lot_of[entry] = (uint8_t)(lot + 1);
        return l->room_bytes != 0;
}

uint32_t patched_owner_of(uint32_t entry) {
        const struct patched_lot *lot = &patched_lots[patched_lot_of[entry] - 1];

        return wire_owner(lot->base, lot->name_hash);
}

bool patched_is_in_place(uint32_t entry) {
        const struct patched_lot *lot = &patched_lots[patched_lot_of[entry] - 1];
        const struct link_map *m;

        if (!patched_lot_of[entry] || lot->is_lasting)
                return patched_lot_of[entry];
        m = patched_object_at(patched_writes[entry].at);
        return m && patched_is_of(lot, m);
}

void patched_join_neighbour(uint32_t entry, unsigned other_lot) {
        if (!patched_lot_of[entry])
                patched_lot_of[entry] = entry && patched_lot_of[entry - 1]
                                                ? patched_lot_of[entry - 1]
                                                : (uint8_t)(other_lot + 1);
}

/* ---- objects that go and come back --------------------------------------------------------- */

/* While an object is gone others may lie where it was: the length of a write is kept elsewhere, and silt sees none. */
static void patched_hide_lot(unsigned lot, bool is_gone) {
        if (patched_lots[lot].is_gone == is_gone)
                return;
        for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++) {
                struct wire_plan_write *w = &patched_writes[i];

                if (patched_lot_of[i] != lot + 1)
                        continue;
                if (is_gone)
                        w->section = w->n_bytes;
                w->n_bytes = is_gone ? 0 : w->section;
        }
        patched_lots[lot].is_gone = is_gone;
}

void patched_hide_closed(void) {
        for (unsigned i = 0; i < PATCHED_MAX_LOTS; i++)
                if (patched_lots[i].is_used && !patched_lots[i].is_lasting)
                        patched_hide_lot(i, !patched_is_loaded(&patched_lots[i]));
}

bool patched_write_again(const struct link_map *m) {
        bool is_any = false;

        for (unsigned lot = 0; lot < PATCHED_MAX_LOTS; lot++) {
                bool is_written = false;

                if (!patched_is_of(&patched_lots[lot], m))
                        continue;
                patched_hide_lot(lot, false);
                for (uint32_t i = 0; i < WIRE_PLAN_MAX_ENTRIES; i++)
                        if (patched_lot_of[i] == lot + 1 && patched_writes[i].n_bytes)
                                is_written |= patched_write(&patched_writes[i]);
                if (!is_written) /* another file under its name */
                        patched_free_lot(lot);
                is_any |= is_written;
        }
        return is_any;
}

bool patched_has_lot(const struct link_map *m) {
        for (unsigned i = 0; i < PATCHED_MAX_LOTS; i++)
                if (patched_is_of(&patched_lots[i], m) && !patched_lots[i].is_gone)
                        return true;
        return false;
}
