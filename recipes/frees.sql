-- Which threads free what? What a child frees that it inherited is not counted.
-- top = 10 (1..): show so many
-- needs (SELECT value > 0 FROM trace WHERE key = 'started_unix_ns'): which thread frees, as it is of another tool
-- says: {thread} frees most: {blocks|block}, {freed_bytes}, that {function} allocated.
-- says nothing: No block was freed.
WITH programs AS (SELECT threads.name FROM processes JOIN threads ON threads.tid = processes.pid),
names AS MATERIALIZED (SELECT id, CASE WHEN ifnull(name, '') = '' THEN 'thread ' || tid
                                            WHEN name IN programs AND count(*) OVER (PARTITION BY name) > 1 THEN name || ' (' || tid || ')' ELSE name END AS name FROM threads)
SELECT t.name AS thread, s.name AS function, sum(x.blocks) AS blocks, sum(x.bytes) AS freed_bytes
FROM (SELECT freed_by, stack, sum(stands_for) AS blocks, sum(bytes * stands_for) AS bytes
      FROM allocations WHERE freed_by IS NOT NULL GROUP BY freed_by, stack) AS x
JOIN names AS t ON t.id = x.freed_by
JOIN sites AS s ON s.stack = x.stack
GROUP BY t.name, s.name
ORDER BY freed_bytes DESC, s.name
LIMIT :top;
