-- How long do the blocks of each function live?
-- top = 10 (1..): show so many
-- needs (SELECT value FROM trace WHERE key = 'has_times'): how long blocks lived
-- says: Of the blocks that were freed, most are of {function}: half of these lived {half_ns} or less, and 99 % {most_ns} or less.
-- says nothing: No block was freed.
WITH names AS MATERIALIZED (SELECT stack, name FROM sites)
SELECT s.name AS function, sum(a.stands_for) AS freed_blocks, CAST(percentile(a.lifetime_ns, 50, a.stands_for) AS INTEGER) AS half_ns,
       CAST(percentile(a.lifetime_ns, 90, a.stands_for) AS INTEGER) AS nine_of_ten_ns,
       CAST(percentile(a.lifetime_ns, 99, a.stands_for) AS INTEGER) AS most_ns, max(a.lifetime_ns) AS longest_ns
FROM allocations AS a JOIN names AS s ON s.stack = a.stack
WHERE a.freed_ns IS NOT NULL
GROUP BY s.name
ORDER BY freed_blocks DESC, s.name
LIMIT :top;
