-- On which call paths did threads wait longest?
-- top = 10 (1..): show so many
-- says: Threads waited {blocked_ns} on the longest of them, in {waits|wait}, of {_all_ns} in all.
-- says nothing: No thread was seen waiting.
SELECT sum(weight_ns) AS blocked_ns, sum(samples) AS waits, count(DISTINCT thread) AS threads, path,
       sum(sum(weight_ns)) OVER () AS _all_ns
FROM ticks
WHERE state = 'blocked'
GROUP BY path
ORDER BY sum(weight_ns) DESC, path
LIMIT :top;
