/* SPDX-License-Identifier: MIT */
#include "show/show_json.h"

void show_put_histogram(struct json *j, const struct query_histogram *h) {
        json_key(j, "exact");
        json_bool(j, h->is_exact);
        json_put_uint(j, "blocks", h->n_blocks);
        if (h->has_bytes)
                json_put_uint(j, "bytes", h->bytes);
        json_key(j, "buckets");
        json_array(j);
        for (size_t i = 0; i < h->n; i++) {
                const struct query_bucket *b = &h->buckets[i];

                json_object(j);
                if (h->kind == QUERY_SIZES) {
                        json_put_uint(j, "min_bytes", b->min);
                        json_put_uint(j, "max_bytes", b->max);
                } else {
                        json_put_double(j, "from_s", (double)b->min / 1e9, 6);
                        json_key(j, "to_s"); /* null: without end */
                        if (b->max == UINT64_MAX)
                                json_null(j);
                        else
                                json_double(j, (double)b->max / 1e9, 6);
                }
                json_put_uint(j, "blocks", b->n_blocks);
                if (h->has_bytes)
                        json_put_uint(j, "bytes", b->bytes);
                json_end(j);
        }
        json_end(j);
}
