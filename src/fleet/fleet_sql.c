/* SPDX-License-Identifier: MIT */
/* A row may be there twice until the server has merged it away: every sum is over groups by key. A process at a moment is its last
 * snapshot before it, unless that one is too old; a call path that is not in it holds nothing. */
#include "fleet/fleet_sql.h"

#include <time.h>

#include "base/macros.h"
#include "fleet/clickhouse_client.h"

enum { DAY_S = 86400 };

static void add_day(struct str *to, uint64_t s) {
        time_t t = (time_t)s;
        struct tm tm;
        char text[16];

        gmtime_r(&t, &tm);
        strftime(text, sizeof(text), "'%Y-%m-%d'", &tm);
        str_add(to, text);
}

/* Of partitions: a day more on either side, for what is older than its moment. */
static void add_days(struct str *to, uint64_t from_s, uint64_t to_s) {
        str_add(to, "day >= ");
        add_day(to, from_s > DAY_S ? from_s - DAY_S : 0);
        str_add(to, " AND day <= ");
        add_day(to, to_s);
}

/* The hour is the second part of the keys: this is what makes the server read some hours and not all of a month. */
static void add_hours(struct str *to, uint64_t from_s, uint64_t to_s) {
        str_addf(to,
                 "intDiv(toUInt32(time), 3600) >= %llu AND intDiv(toUInt32(time), 3600) <= %llu",
                 (unsigned long long)(from_s / 3600), (unsigned long long)(to_s / 3600));
}

/* In which the snapshots of a moment are. */
static void add_hours_of(struct str *to, uint64_t at_s, struct fleet_moments m) {
        add_hours(to, at_s > m.reach_s ? at_s - m.reach_s : 0, at_s);
}

static void add_equal(struct str *to, const char *column, const char *value) {
        if (!value)
                return;
        str_addf(to, " AND %s = ", column);
        clickhouse_add_text(to, value);
}

static void add_where(struct str *to, const struct fleet_question *q) {
        add_equal(to, "service", q->service);
        add_equal(to, "host", q->host);
        add_equal(to, "build", q->build);
}

/* The last snapshot of each process at a moment: (run, recording_ms). One that says that the recording ended counts as long as no
 * other process of that service follows on the host. */
static void add_alive_at(struct str *to, const struct fleet_question *q, uint64_t at_s,
                         struct fleet_moments m) {
        str_add(to, " FROM silt_snapshots WHERE ");
        add_days(to, at_s, at_s);
        str_add(to, " AND ");
        add_hours_of(to, at_s, m);
        str_addf(
                to,
                " AND toUInt32(time) <= %llu AND toUInt32(time) + intDiv(3 * period_ms, 1000) + %d > %llu",
                (unsigned long long)at_s, FLEET_SLACK_S, (unsigned long long)at_s);
        add_equal(to, "service", q->service);
        add_equal(to, "host", q->host);
}

static void add_runs_at(struct str *to, const struct fleet_question *q, uint64_t at_s,
                        struct fleet_moments m) {
        str_add(to, "SELECT run, max(recording_ms)");
        add_alive_at(to, q, at_s, m);
        str_add(to,
                " GROUP BY service, host, run HAVING argMax(is_last, recording_ms) = 0 OR (service, host, max(time)) IN (SELECT service, host, max(time)");
        add_alive_at(to, q, at_s, m);
        str_add(to, " GROUP BY service, host)");
}

static void add_hosts_at(struct str *to, const struct fleet_question *q, uint64_t at_s,
                         struct fleet_moments m) {
        str_add(to, "SELECT service, host FROM silt_snapshots WHERE ");
        add_days(to, at_s, at_s);
        str_add(to, " AND ");
        add_hours_of(to, at_s, m);
        add_equal(to, "build", q->build);
        str_add(to, " AND (run, recording_ms) IN (");
        add_runs_at(to, q, at_s, m);
        str_add(to, ") GROUP BY service, host");
}

/* Of a build: what it holds now, on hosts that it runs on now; and before, or, where it did not run yet, what others held there. */
static void add_build_at_both(struct str *to, const struct fleet_question *q,
                              struct fleet_moments m) {
        if (!q->build)
                return;
        str_add(to, " AND (service, host) IN (");
        add_hosts_at(to, q, m.now_s, m);
        str_add(to, ") AND (build = ");
        clickhouse_add_text(to, q->build);
        str_add(to, " OR (NOT is_now AND (service, host) NOT IN (");
        add_hosts_at(to, q, m.before_s, m);
        str_add(to, ")))");
}

/* Rows of a table, each once, with is_now and is_before; `columns` in addition. */
static void add_at_both(struct str *to, const char *table, const char *keys, const char *columns,
                        const struct fleet_question *q, struct fleet_moments m) {
        str_addf(to, "SELECT %s, %s, (run, recording_ms) IN (", keys, columns);
        add_runs_at(to, q, m.now_s, m);
        str_add(to, ") AS is_now, (run, recording_ms) IN (");
        add_runs_at(to, q, m.before_s, m);
        str_addf(to, ") AS is_before FROM %s WHERE ", table);
        add_days(to, m.before_s, m.now_s);
        str_add(to, " AND (");
        add_hours_of(to, m.now_s, m);
        str_add(to, " OR ");
        add_hours_of(to, m.before_s, m);
        str_add(to, ")");
        add_equal(to, "service", q->service);
        add_equal(to, "host", q->host);
        str_add(to, " AND (is_now OR is_before)");
        add_build_at_both(to, q, m);
        str_addf(to, " GROUP BY %s", keys);
}

/* With one more, so that it is known whether there are more. */
static void add_limit(struct str *to, const struct fleet_question *q) {
        str_addf(to, " LIMIT %llu", (unsigned long long)q->n_rows + 1);
}

void fleet_sql_newest(struct str *to, bool is_recent) {
        str_addf(
                to,
                "SELECT toUInt32(maxIf(time, time <= now())), toUInt32(now()), countIf(time <= now()), max(period_ms), countIf(toUInt32(time) > toUInt32(now()) + %d) FROM silt_snapshots%s",
                FLEET_SLACK_S, is_recent ? " WHERE day >= today() - 1" : "");
}

void fleet_sql_ahead(struct str *to, const struct fleet_question *q) {
        str_addf(
                to,
                "SELECT uniqExact(host), toUInt32(max(time)) - toUInt32(now()), argMax(host, time) FROM silt_snapshots WHERE day >= today() AND intDiv(toUInt32(time), 3600) >= intDiv(toUInt32(now()), 3600) AND toUInt32(time) > toUInt32(now()) + %d",
                FLEET_SLACK_S);
        add_where(to, q);
}

/* One more than two, as an answer that has them is one about too few digits. */
void fleet_sql_named(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                     const char *build) {
        uint64_t from_s = m.before_s > m.reach_s ? m.before_s - m.reach_s : 0;

        str_add(to, "SELECT build FROM silt_snapshots WHERE ");
        add_days(to, from_s, m.now_s);
        str_add(to, " AND ");
        add_hours(to, from_s, m.now_s);
        add_equal(to, "service", q->service);
        str_add(to, " AND startsWith(build, ");
        clickhouse_add_text(to, build);
        str_add(to, ") GROUP BY build ORDER BY build LIMIT 2");
}

/* Hosts that were not there before have no "before": what they hold is no growth. */
void fleet_sql_services(struct str *to, const struct fleet_question *q, struct fleet_moments m) {
        str_add(to,
                "SELECT service, toInt64(sum(bytes_now)), toInt64(sumIf(bytes_now - bytes_before, has_now AND has_before)), "
                "toInt64(sumIf(bytes_before, has_now AND has_before)), sum(has_now), countIf(has_now AND has_before), "
                "countIf(has_now AND NOT has_before), countIf(has_before AND NOT has_now), "
                "length(arrayFilter(x -> x != '', groupUniqArray(host_build))), sqrt(sum(e2)), max(seen) FROM (");
        str_add(to,
                "SELECT service, host, sumIf(live, is_now) AS bytes_now, sumIf(live, is_before) AS bytes_before, "
                "max(is_now) AS has_now, max(is_before) AS has_before, maxIf(built, is_now) AS host_build, "
                "sumIf(e * e, is_now) AS e2, max(at) AS seen FROM (");
        add_at_both(
                to, "silt_snapshots", "service, host, run, recording_ms",
                "any(live_bytes) AS live, any(build) AS built, any(error_bytes) AS e, toUInt32(any(time)) AS at",
                q, m);
        str_add(to,
                ") GROUP BY service, host) GROUP BY service ORDER BY sumIf(bytes_now - bytes_before, has_now AND has_before) DESC, service");
        add_limit(to, q);
}

/* A snapshot counts for the period behind it, by the seconds of it that are in a part: parts may be shorter than periods, and longer. */
void fleet_sql_history(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                       uint64_t step_s) {
        unsigned long long from = m.before_s, end = m.now_s, step = step_s;

        str_addf(
                to,
                "SELECT service, part, sum(toFloat64(live) * (least(upto, %llu + (part + 1) * %llu) - greatest(since, %llu + part * %llu))) / greatest(least(%llu + (part + 1) * %llu, %llu) - (%llu + part * %llu), 1) "
                "FROM (SELECT service, live, since, upto, arrayJoin(arrayMap(x -> intDiv(since - %llu, %llu) + x, range(toUInt64(intDiv(upto - 1 - %llu, %llu) - intDiv(since - %llu, %llu) + 1)))) AS part FROM (",
                from, step, from, step, from, step, end, from, step, from, step, from, step, from,
                step);
        str_addf(
                to,
                "SELECT service, run, recording_ms, any(live_bytes) AS live, greatest(toInt64(toUInt32(any(time))), toInt64(%llu)) AS since, "
                "least(toInt64(toUInt32(any(time))) + toInt64(intDiv(least(any(period_ms), %llu), 1000)), toInt64(%llu)) AS upto FROM silt_snapshots WHERE ",
                from, (unsigned long long)m.reach_s * 1000, end);
        add_days(to, m.before_s, m.now_s);
        str_add(to, " AND ");
        add_hours(to, m.before_s > m.reach_s ? m.before_s - m.reach_s : 0, m.now_s);
        str_addf(to, " AND toUInt32(time) < %llu", end);
        add_where(to, q);
        str_addf(
                to,
                " GROUP BY service, run, recording_ms HAVING upto > since)) GROUP BY service, part LIMIT %d",
                FLEET_MAX_ROWS * FLEET_N_HISTORY);
}

/* Live bytes by call path and host at both moments. */
static void add_paths_by_host(struct str *to, const struct fleet_question *q,
                              struct fleet_moments m) {
        str_add(to,
                "SELECT service, host, path, sumIf(live, is_now) AS bytes_now, "
                "sumIf(live, is_before) AS bytes_before, sumIf(blocks, is_now) AS blocks_now, sum(e * e) AS e2, max(is_now) AS has_now FROM (");
        add_at_both(to, "silt_sites", "service, host, path, run, recording_ms",
                    "any(live_bytes) AS live, any(live_blocks) AS blocks, any(error_bytes) AS e", q,
                    m);
        str_add(to, ") GROUP BY service, host, path");
}

/* Hosts at a moment, whatever they ran then. */
static void add_any_hosts_at(struct str *to, const struct fleet_question *q, uint64_t at_s,
                             struct fleet_moments m) {
        struct fleet_question any = *q;

        any.build = NULL;
        add_hosts_at(to, &any, at_s, m);
}

/* The build is that of the host: a call path that holds nothing there any more has none of its own. */
void fleet_sql_grew(struct str *to, const struct fleet_question *q, struct fleet_moments m) {
        str_add(to,
                "SELECT service, host_build, toInt64(sum(bytes_now - bytes_before)) AS growth, toInt64(sum(bytes_before)), toInt64(sum(bytes_now)), "
                "countIf(bytes_now > bytes_before), count(), sqrt(sum(e2)), hex(path) FROM (");
        add_paths_by_host(to, q, m);
        str_add(to,
                ") ANY INNER JOIN (SELECT service, host, max(build) AS host_build FROM silt_snapshots WHERE ");
        add_days(to, m.now_s, m.now_s);
        str_add(to, " AND ");
        add_hours_of(to, m.now_s, m);
        add_where(to, q);
        str_add(to, " AND (run, recording_ms) IN (");
        add_runs_at(to, q, m.now_s, m);
        str_add(to, ") GROUP BY service, host) USING service, host WHERE (service, host) IN (");
        add_any_hosts_at(to, q, m.before_s, m);
        str_add(to,
                ") GROUP BY service, host_build, path HAVING growth > 0 ORDER BY growth DESC, service, path");
        add_limit(to, q);
}

void fleet_sql_paths(struct str *to, const struct fleet_question *q, struct fleet_moments m) {
        str_add(to,
                "SELECT toInt64(sum(bytes_now)) AS live, toInt64(sumIf(bytes_now - bytes_before, was_there AND is_there)), toInt64(sum(blocks_now)), "
                "countIf(bytes_now > 0), sqrt(sum(e2)), hex(path) FROM (SELECT path, bytes_now, bytes_before, blocks_now, e2, has_now, (service, host) IN (");
        add_any_hosts_at(to, q, m.before_s, m);
        str_add(to, ") AS was_there, (service, host) IN (");
        add_any_hosts_at(to, q, m.now_s, m);
        str_add(to, ") AS is_there FROM (");
        add_paths_by_host(to, q, m);
        str_add(to, ")) GROUP BY path HAVING max(has_now) = 1 ORDER BY live DESC, path");
        add_limit(to, q);
}

void fleet_sql_builds(struct str *to, const struct fleet_question *q, struct fleet_moments m) {
        str_add(to,
                "SELECT service, built, min(first), max(last), uniqExact(host), count(), avg(mean), max(most) FROM ("
                "SELECT service, host, run, any(b) AS built, min(at) AS first, max(at) AS last, avg(live) AS mean, max(live) AS most FROM ("
                "SELECT service, host, run, recording_ms, any(build) AS b, toUInt32(any(time)) AS at, any(live_bytes) AS live FROM silt_snapshots WHERE ");
        add_days(to, m.before_s, m.now_s);
        str_add(to, " AND ");
        add_hours(to, m.before_s, m.now_s);
        str_addf(to, " AND toUInt32(time) >= %llu AND toUInt32(time) <= %llu",
                 (unsigned long long)m.before_s, (unsigned long long)m.now_s);
        add_where(to, q);
        str_add(to,
                " GROUP BY service, host, run, recording_ms) GROUP BY service, host, run) GROUP BY service, built ORDER BY service, min(first) DESC, built");
        add_limit(to, q);
}

/* A MAD of nothing, as of hosts that are all alike, would make the least difference infinite: a hundredth of the median at least. */
void fleet_sql_hosts(struct str *to, const struct fleet_question *q, struct fleet_moments m) {
        str_add(to,
                "SELECT service, host, host_build, toInt64(live), toInt64(middle), toInt64(spread), score, n_hosts FROM ("
                "SELECT service, length(all_hosts) AS n_hosts, "
                "arrayReduce('medianExact', arrayMap(x -> toFloat64(x.2), all_hosts)) AS middle, "
                "arrayReduce('medianExact', arrayMap(x -> abs(x.2 - middle), all_hosts)) AS mad, "
                "greatest(greatest(1.4826 * mad, abs(middle) / 100), 1.0) AS spread, all_hosts FROM ("
                "SELECT service, groupArray((host, bytes_now, host_build)) AS all_hosts FROM ("
                "SELECT service, host, sum(live_now) AS bytes_now, max(built) AS host_build FROM ("
                "SELECT service, host, run, recording_ms, any(live_bytes) AS live_now, any(build) AS built FROM silt_snapshots WHERE ");
        add_days(to, m.now_s, m.now_s);
        str_add(to, " AND ");
        add_hours_of(to, m.now_s, m);
        add_where(to, q);
        str_add(to, " AND (run, recording_ms) IN (");
        add_runs_at(to, q, m.now_s, m);
        str_add(to,
                ") GROUP BY service, host, run, recording_ms) GROUP BY service, host) GROUP BY service)) "
                "ARRAY JOIN arrayMap(x -> x.1, all_hosts) AS host, arrayMap(x -> x.2, all_hosts) AS live, arrayMap(x -> x.3, all_hosts) AS host_build, "
                "arrayMap(x -> (x.2 - middle) / spread, all_hosts) AS score "
                "WHERE n_hosts >= 4 AND score > 5 ORDER BY score DESC, service, host");
        add_limit(to, q);
}

void fleet_sql_excess(struct str *to, const char *service, const char *host,
                      struct fleet_moments m) {
        struct fleet_question q = {.service = service};

        str_add(to,
                "SELECT hex(path), toInt64(own - (whole - own) / greatest(n - 1, 1)) AS excess FROM ("
                "SELECT path, sum(bytes_now) AS whole, sumIf(bytes_now, host = ");
        clickhouse_add_text(to, host);
        str_add(to, ") AS own, (SELECT count() FROM (");
        add_hosts_at(to, &q, m.now_s, m);
        str_add(to,
                ")) AS n FROM (SELECT host, path, sum(live) AS bytes_now FROM (SELECT host, path, run, recording_ms, any(live_bytes) AS live FROM silt_sites WHERE ");
        add_days(to, m.now_s, m.now_s);
        str_add(to, " AND ");
        add_hours_of(to, m.now_s, m);
        add_equal(to, "service", service);
        str_add(to, " AND (run, recording_ms) IN (");
        add_runs_at(to, &q, m.now_s, m);
        str_add(to,
                ") GROUP BY host, path, run, recording_ms) GROUP BY host, path) GROUP BY path) ORDER BY excess DESC LIMIT 1");
}

/* ---- two builds ------------------------------------------------------------------------------------ */

/* Of both builds in the time looked at: processes, however many are on a host. */
static void add_release_where(struct str *to, const struct fleet_question *q,
                              struct fleet_moments m) {
        add_days(to, m.before_s, m.now_s);
        str_add(to, " AND ");
        add_hours(to, m.before_s, m.now_s);
        str_addf(to, " AND toUInt32(time) >= %llu AND toUInt32(time) <= %llu",
                 (unsigned long long)m.before_s, (unsigned long long)m.now_s);
        add_equal(to, "service", q->service);
        add_equal(to, "host", q->host);
        str_add(to, " AND build IN (");
        clickhouse_add_text(to, q->old_build);
        str_add(to, ", ");
        clickhouse_add_text(to, q->new_build);
        str_add(to, ")");
}

/* The same processes while they were young, which may have been before that time. */
static void add_young_where(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                            struct fleet_ages ages) {
        struct fleet_moments all = m;

        all.before_s = MIN(ages.begin_s, m.before_s);
        add_release_where(to, q, all);
        str_addf(to, " AND recording_ms <= %llu", (unsigned long long)ages.horizon_ms);
        str_add(to, " AND run IN (SELECT run FROM silt_snapshots WHERE ");
        add_release_where(to, q, m);
        str_add(to, " GROUP BY run)");
}

static void add_is_new(struct str *to, const struct fleet_question *q) {
        str_add(to, "any(build) = ");
        clickhouse_add_text(to, q->new_build);
        str_add(to, " AS is_new");
}

void fleet_sql_release_sides(struct str *to, const struct fleet_question *q,
                             struct fleet_moments m) {
        str_add(to,
                "SELECT countIf(NOT is_new), countIf(is_new), maxIf(age, NOT is_new), maxIf(age, is_new), min(begin) FROM (SELECT run, max(recording_ms) AS age, min(toInt64(toUInt32(time)) - toInt64(intDiv(recording_ms, 1000))) AS begin, ");
        add_is_new(to, q);
        str_add(to, " FROM silt_snapshots WHERE ");
        add_release_where(to, q, m);
        str_add(to, " GROUP BY run)");
}

/* sums of x and of its square over processes of one build, as the mean and the variance of that mean */
static void add_mean(struct str *to, const char *cond, uint64_t n) {
        str_addf(to, "sumIf(x, %s) / %llu", cond, (unsigned long long)(n ? n : 1));
}

static void add_variance(struct str *to, const char *cond, uint64_t n) {
        if (n < 2)
                str_add(to, "0");
        else
                str_addf(
                        to,
                        "greatest(sumIf(x * x, %s) - sumIf(x, %s) * sumIf(x, %s) / %llu, 0) / %llu / %llu",
                        cond, cond, cond, (unsigned long long)n, (unsigned long long)n - 1,
                        (unsigned long long)n);
}

static void add_release_figures(struct str *to, uint64_t n_old, uint64_t n_new) {
        add_mean(to, "is_new", n_new);
        str_add(to, " - ");
        add_mean(to, "NOT is_new", n_old);
        str_add(to, " AS change, ");
        add_mean(to, "NOT is_new", n_old);
        str_add(to, ", ");
        add_mean(to, "is_new", n_new);
        str_add(to, ", sqrt(");
        add_variance(to, "NOT is_new", n_old);
        str_add(to, " + ");
        add_variance(to, "is_new", n_new);
        str_add(to, "), countIf(NOT is_new AND x > 0), countIf(is_new AND x > 0)");
}

/* What a process holds is the mean of its snapshots; a snapshot without the call path counts as one that holds nothing there. */
void fleet_sql_release(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                       struct fleet_ages ages, uint64_t n_old, uint64_t n_new) {
        str_add(to, "SELECT ");
        add_release_figures(to, n_old, n_new);
        str_add(to,
                ", hex(path) FROM (SELECT path, run, is_new, bytes / n_snapshots AS x FROM (SELECT path, run, is_new, sum(live) AS bytes FROM (SELECT path, run, recording_ms, any(live_bytes) AS live, ");
        add_is_new(to, q);
        str_add(to, " FROM silt_sites WHERE ");
        add_young_where(to, q, m, ages);
        str_add(to,
                " GROUP BY path, run, recording_ms) GROUP BY path, run, is_new) ANY INNER JOIN (SELECT run, uniqExact(recording_ms) AS n_snapshots FROM silt_snapshots WHERE ");
        add_young_where(to, q, m, ages);
        str_add(to, " GROUP BY run) USING run) GROUP BY path ORDER BY abs(change) DESC, path");
        add_limit(to, q);
}

void fleet_sql_release_total(struct str *to, const struct fleet_question *q, struct fleet_moments m,
                             struct fleet_ages ages) {
        str_add(to,
                "SELECT countIf(NOT is_new), countIf(is_new), sumIf(x, NOT is_new), sumIf(x, is_new), sumIf(x * x, NOT is_new), sumIf(x * x, is_new) FROM (SELECT run, is_new, avg(live) AS x FROM (SELECT run, recording_ms, any(live_bytes) AS live, ");
        add_is_new(to, q);
        str_add(to, " FROM silt_snapshots WHERE ");
        add_young_where(to, q, m, ages);
        str_add(to, " GROUP BY run, recording_ms) GROUP BY run, is_new)");
}

/* ---- what limits the figures ----------------------------------------------------------------------- */

/* What was lost once makes figures wrong ever after: not only in the period of the last snapshot. */
static void add_lost_since(struct str *to, const struct fleet_question *q, struct fleet_moments m) {
        str_add(to,
                "(SELECT sum(n) FROM (SELECT run, recording_ms, any(lost) AS n FROM silt_snapshots WHERE ");
        add_days(to, m.before_s, m.now_s);
        str_add(to, " AND ");
        add_hours(to, m.before_s, m.now_s);
        str_addf(to, " AND toUInt32(time) <= %llu", (unsigned long long)m.now_s);
        add_where(to, q);
        str_add(to, " GROUP BY run, recording_ms))");
}

void fleet_sql_doubts(struct str *to, const struct fleet_question *q, struct fleet_moments m) {
        str_add(to, "SELECT count(), uniqExact(host), countIf(sampled > 0), ");
        add_lost_since(to, q, m);
        str_add(to,
                ", sum(n_sites), (SELECT count() FROM (SELECT run, path FROM silt_sites WHERE ");
        add_days(to, m.now_s, m.now_s);
        str_add(to, " AND ");
        add_hours_of(to, m.now_s, m);
        add_where(to, q);
        str_add(to, " AND (run, recording_ms) IN (");
        add_runs_at(to, q, m.now_s, m);
        str_add(to,
                ") GROUP BY run, path)), countIf(damaged > 0), countIf(late > 0) FROM (SELECT host, run, any(is_damaged) AS damaged, any(is_late) AS late, any(sample_bytes) AS sampled, any(sites) AS n_sites FROM silt_snapshots WHERE ");
        add_days(to, m.now_s, m.now_s);
        str_add(to, " AND ");
        add_hours_of(to, m.now_s, m);
        add_where(to, q);
        str_add(to, " AND (run, recording_ms) IN (");
        add_runs_at(to, q, m.now_s, m);
        str_add(to, ") GROUP BY host, run)");
}

void fleet_sql_losses(struct str *to, const struct fleet_question *q, struct fleet_moments m) {
        str_add(to, "SELECT sum(snapshots), uniqExact(host) FROM silt_losses_once WHERE ");
        add_days(to, m.before_s, m.now_s + DAY_S);
        str_addf(to, " AND toUInt32(to_time) >= %llu AND toUInt32(from_time) <= %llu",
                 (unsigned long long)m.before_s, (unsigned long long)m.now_s);
        add_equal(to, "service", q->service);
        add_equal(to, "host", q->host);
}

/* Lines of names that hold line ends themselves would be more frames than there are. */
void fleet_sql_frames(struct str *to, const struct fleet_named_path *paths, size_t n) {
        str_add(to,
                "SELECT hex(path), arrayStringConcat(arrayMap(x -> replaceAll(x, '\\n', ' '), any(frames)), '\\n') FROM silt_paths WHERE path IN (");
        for (size_t i = 0; i < n; i++)
                str_addf(to, "%stoFixedString(unhex('%s'), 16)", i ? ", " : "", paths[i].id);
        str_add(to, ") GROUP BY path");
}
