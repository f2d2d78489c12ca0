/* SPDX-License-Identifier: MIT */
#include "show/show_json.h"

void show_put_mappings(struct json *j, struct query *q, const struct query_mapped *all,
                       const struct query_mapping *sites, size_t n, size_t n_top) {
        json_key(j, "mappings");
        json_object(j);
        json_put_uint(j, "peak_bytes", all->peak_bytes);
        json_put_uint(j, "end_bytes", all->end_bytes);
        json_put_uint(j, "reserved_peak_bytes", all->reserved_peak_bytes);
        json_put_uint(j, "usable_peak_bytes", all->usable_peak_bytes);
        json_key(j, "sites");
        json_array(j);
        for (size_t i = 0; i < n && i < n_top; i++) {
                const struct query_mapping *m = &sites[i];

                json_object(j);
                json_put_uint(j, "peak_bytes", m->peak_bytes);
                json_put_uint(j, "end_bytes", m->end_bytes);
                json_put_uint(j, "mapped_bytes", m->mapped_bytes);
                json_put_uint(j, "reserved_bytes", m->reserved_bytes);
                json_put_uint(j, "calls", m->n_calls);
                show_put_stack(j, q, m->stack);
                show_put_shown(j, q, m->stack);
                json_end(j);
        }
        json_end(j);
        json_end(j);
}
