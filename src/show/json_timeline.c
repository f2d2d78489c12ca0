/* SPDX-License-Identifier: MIT */
#include "show/show_json.h"

void show_put_timeline(struct json *j, const struct query_column *columns, size_t n) {
        json_key(j, "timeline");
        json_array(j);
        for (size_t i = 0; i < n; i++) {
                json_object(j);
                json_put_double(j, "at_s", (double)columns[i].begin_ns / 1e9, 6);
                json_put_uint(j, "live_bytes", columns[i].live_bytes);
                if (columns[i].has_rss)
                        json_put_uint(j, "rss_bytes", columns[i].rss_bytes);
                json_end(j);
        }
        json_end(j);
}
