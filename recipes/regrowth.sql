-- Which buffers grow step by step, and how much do they copy?
-- top = 10 (1..): show so many
-- needs (SELECT value > 0 FROM trace WHERE key = 'started_unix_ns'): which blocks grow, as it is of another tool
-- needs (SELECT value = 0 FROM trace WHERE key = 'sample_bytes'): which blocks grow, as it is one of samples
-- says: {function} grew buffers {growths|time}, typically by a factor of {factor}, and copied or moved {copied_bytes}.
-- says nothing: No recorded event made a block larger.
WITH names AS MATERIALIZED (SELECT stack, name FROM sites)
SELECT s.name AS function, sum(e.stands_for) AS growths, printf('%.2f', median(e.bytes * 1.0 / e.old_bytes, e.stands_for)) AS factor,
       sum(e.old_bytes * e.stands_for) AS copied_bytes, max(e.bytes) AS largest_bytes
FROM events AS e JOIN names AS s ON s.stack = e.stack
WHERE e.op = 'realloc' AND e.old_bytes > 0 AND e.bytes > e.old_bytes
GROUP BY s.name
ORDER BY copied_bytes DESC, s.name
LIMIT :top;
