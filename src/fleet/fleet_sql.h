/* SPDX-License-Identifier: MIT */
/* SELECTs about the tables of docs/fleet.md, as ClickHouse from 18.16 on understands them. What users give is quoted. Inside fleet/ only. */
#pragma once

#include "base/str.h"
#include "fleet/fleet_question.h"

enum {
        FLEET_SLACK_S =
                120, /* a process whose last snapshot is older than this and three periods is gone */
};

struct fleet_moments {
        uint64_t now_s, before_s;
        uint64_t reach_s; /* how old the snapshot of a process that is there can be */
};

/* How far two builds are compared. */
struct fleet_ages {
        uint64_t begin_s;    /* when the first of the processes began */
        uint64_t horizon_ms; /* up to which age */
};

/* Columns of each are those that fleet_ask() has for the question. */
void fleet_sql_newest(
        struct str *to,
        bool is_recent); /* newest, the server's now, snapshots up to it, longest period in ms, snapshots of clocks that are ahead */
void fleet_sql_ahead(struct str *to,
                     const struct fleet_question *q); /* hosts whose clocks are, seconds, host */
void fleet_sql_named(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                     const char *build); /* builds that begin so, two at most */
void fleet_sql_services(struct str *to, const struct fleet_question *q, struct fleet_moments m);
void fleet_sql_history(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                       uint64_t step_s); /* service, column, bytes */
void fleet_sql_grew(struct str *to, const struct fleet_question *q, struct fleet_moments m);
void fleet_sql_paths(struct str *to, const struct fleet_question *q, struct fleet_moments m);
void fleet_sql_builds(struct str *to, const struct fleet_question *q, struct fleet_moments m);
void fleet_sql_hosts(struct str *to, const struct fleet_question *q, struct fleet_moments m);
/* Of a host and its service: the call path with most above the mean of the other hosts, and how much. */
void fleet_sql_excess(struct str *to, const char *service, const char *host,
                      struct fleet_moments m);
/* Processes and their age at most in ms, of the old and of the new build, and when the first of them began; live bytes of both and their standard errors. */
void fleet_sql_release_sides(struct str *to, const struct fleet_question *q,
                             struct fleet_moments m);
void fleet_sql_release(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                       struct fleet_ages ages, uint64_t n_old, uint64_t n_new);
void fleet_sql_release_total(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                             struct fleet_ages ages);
/* Snapshots and hosts at the moment; hosts that sampled; events lost since the moment before; rows that their snapshots should have, and have. */
void fleet_sql_doubts(struct str *to, const struct fleet_question *q, struct fleet_moments m);
void fleet_sql_losses(struct str *to, const struct fleet_question *q, struct fleet_moments m);
void fleet_sql_frames(struct str *to, const struct fleet_named_path *paths, size_t n);
