/* SPDX-License-Identifier: MIT */
#include "pipeline/testing/family_model.h"

#include <string.h>

void model_peak(struct model *m, struct model_process *p) {
        struct trace_counts *c = &p->counts;

        if (c->live_bytes > c->peak_bytes) {
                c->peak_bytes = c->live_bytes;
                c->peak_blocks = c->live_blocks;
                c->peak_ns = m->time;
                for (int i = 0; i < N_SITES; i++)
                        p->at_peak[i] = p->sites[i].inherited_bytes + p->sites[i].alloc_bytes -
                                        p->sites[i].free_bytes;
        }
        if (m->all_live > m->all_peak) {
                m->all_peak = m->all_live;
                for (uint32_t k = 0; k < m->n_processes; k++)
                        memcpy(m->at_all_peak[k], m->p[k].own, sizeof(m->p[k].own));
        }
}

void model_alloc(struct model *m, struct model_process *p, struct model_thread *t, uint32_t address,
                 uint64_t size_bytes, uint32_t site) {
        uint32_t id = (uint32_t)(p - m->p);

        p->blocks[address] = (struct model_block){size_bytes, m->n_seqs, site, id, t->tid};
        t->has_latest = true;
        t->latest_site = site;
        t->latest_bytes = size_bytes;
        t->last_seq = m->n_seqs++;
        p->sites[site].n_allocs++;
        p->sites[site].alloc_bytes += size_bytes;
        p->own[site] += (int64_t)size_bytes;
        m->all_live += (int64_t)size_bytes;
        p->counts.n_allocs++;
        p->counts.alloc_bytes += size_bytes;
        p->counts.live_blocks++;
        p->counts.live_bytes += size_bytes;
}

/* ---- blocks of the dead: plain, all of it again each time --------------------------------------- */

/* The highest of its ancestors that are all dead; itself when its parent lives. */
static uint32_t top_of(const struct model *m, uint32_t k) {
        while (m->p[k].parent != UINT32_MAX && !m->p[m->p[k].parent].is_alive)
                k = m->p[k].parent;
        return k;
}

/* Copies of an ancestor's blocks, without those that somebody above the dead counts. */
static int64_t claim_of(const struct model *m, uint32_t k, uint32_t site) {
        uint32_t top = top_of(m, k);
        int64_t bytes = 0;

        for (uint32_t i = 0; i < N_ADDRESSES; i++)
                if (m->p[k].blocks[i].size_bytes && m->p[k].blocks[i].site == site &&
                    m->p[k].blocks[i].owner != k)
                        bytes += (int64_t)m->p[k].blocks[i].size_bytes;
        if (m->p[top].parent != UINT32_MAX)
                bytes -= (int64_t)m->p[top].sites[site].inherited_bytes;
        return bytes > 0 ? bytes : 0;
}

static bool is_heir_of(const struct model *m, uint32_t k, uint32_t top) {
        return m->p[k].is_alive && k != top && top_of(m, k) == top;
}

static void model_adopt(struct model *m, uint32_t k, uint32_t site, int64_t bytes) {
        m->p[k].adopted[site] += bytes;
        m->p[k].own[site] += bytes;
        m->all_live += bytes;
}

/* released_by: who has just released, UINT32_MAX: somebody ended. */
static void model_settle(struct model *m, uint32_t top, uint32_t site, uint32_t released_by,
                         int64_t bytes) {
        for (int round = 0; round < 2; round++) {
                int64_t most = 0, counted = 0;
                uint32_t who = UINT32_MAX;

                for (uint32_t k = 0; k < m->n_processes; k++) {
                        if (!is_heir_of(m, k, top))
                                continue;
                        counted += m->p[k].adopted[site];
                        if (claim_of(m, k, site) > most) {
                                most = claim_of(m, k, site);
                                who = k;
                        }
                }
                if (round == 0 && released_by != UINT32_MAX) {
                        struct model_process *p = &m->p[released_by];
                        int64_t own = p->adopted[site], over = own - claim_of(m, released_by, site),
                                less = counted - most < own ? counted - most : own;

                        less = less > over ? less : over;
                        less = less < bytes ? less : bytes;
                        if (less > 0)
                                model_adopt(m, released_by, site, -less);
                } else if (round == 1 && most > counted) {
                        model_adopt(m, who, site, most - counted);
                }
        }
}

void model_free(struct model *m, struct model_process *p, struct model_thread *t,
                uint32_t address) {
        struct model_block b = p->blocks[address];

        p->blocks[address].size_bytes = 0;
        p->sites[b.site].n_frees++;
        p->sites[b.site].free_bytes += b.size_bytes;
        if (b.owner == (uint32_t)(p - m->p)) {
                p->own[b.site] -= (int64_t)b.size_bytes;
                m->all_live -= (int64_t)b.size_bytes;
        } else if (is_heir_of(m, (uint32_t)(p - m->p), top_of(m, (uint32_t)(p - m->p)))) {
                model_settle(m, top_of(m, (uint32_t)(p - m->p)), b.site, (uint32_t)(p - m->p),
                             (int64_t)b.size_bytes);
        }
        if (t->last_seq == b.seq) {
                p->sites[b.site].n_temporary++;
                p->counts.n_temporary++;
        }
        p->counts.n_frees++;
        p->counts.live_blocks--;
        p->counts.live_bytes -= b.size_bytes;
}

void model_grow(struct trace_move *x, uint64_t old_bytes, uint64_t new_bytes) {
        x->n_grown++;
        x->copied_bytes += old_bytes;
        x->grown_bytes += new_bytes;
}

void model_move(struct model *m, struct model_process *p, struct model_thread *t, uint32_t address,
                bool is_free) {
        const struct model_block *b = &p->blocks[address];
        struct trace_move *x = &p->moves[b->site];

        if (b->owner != (uint32_t)(p - m->p))
                return;
        if (b->thread != t->tid) {
                x->n_foreign_frees++;
                x->foreign_bytes += b->size_bytes;
        }
        if (t->last_seq == b->seq)
                t->has_latest = false;
        if (!is_free || !t->has_latest || t->latest_site != b->site ||
            t->latest_bytes == b->size_bytes)
                return;
        t->has_latest = false;
        if (t->latest_bytes > b->size_bytes)
                model_grow(x, b->size_bytes, t->latest_bytes);
        else
                x->n_shrunk++;
}

void model_end(struct model *m, struct model_process *p) {
        p->is_alive = false;
        for (int i = 0; i < N_SITES; i++) {
                m->all_live -= p->own[i];
                p->own[i] = p->adopted[i] = 0;
        }
        for (uint32_t i = 0; i < N_SITES; i++)
                model_settle(m, top_of(m, (uint32_t)(p - m->p)), i, UINT32_MAX, 0);
        model_peak(m, p);
}
