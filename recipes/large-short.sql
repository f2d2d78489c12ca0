-- Which large blocks live only for a moment?
-- over = 64K: blocks larger than this
-- within = 100ms: that lived at most this long
-- top = 10 (1..): show so many
-- needs (SELECT value FROM trace WHERE key = 'has_times'): how long blocks lived
-- says: {function} allocates most of them: {blocks|block}, {allocated_bytes}, of which half live {half_ns} or less.
-- says nothing: No block larger than {:over} was freed within {:within}.
WITH names AS MATERIALIZED (SELECT stack, name FROM sites)
SELECT s.name AS function, sum(a.stands_for) AS blocks, sum(a.bytes * a.stands_for) AS allocated_bytes,
       CAST(median(a.lifetime_ns, a.stands_for) AS INTEGER) AS half_ns
FROM allocations AS a JOIN names AS s ON s.stack = a.stack
WHERE a.bytes > :over AND a.lifetime_ns <= at(:within) AND a.freed_ns IS NOT NULL
GROUP BY s.name
ORDER BY allocated_bytes DESC, s.name
LIMIT :top;
