-- Who frees what other threads allocate? What a child frees that it inherited is not counted.
-- top = 10 (1..): show so many
-- needs (SELECT value > 0 FROM trace WHERE key = 'started_unix_ns'): which thread frees, as it is of another tool
-- says: {freed_by} frees {blocks|block} ({freed_bytes}) that {allocated_by} allocates in {function}.
-- says nothing: No recorded block was freed by another thread than the one that allocated it.
WITH programs AS (SELECT threads.name FROM processes JOIN threads ON threads.tid = processes.pid),
names AS MATERIALIZED (SELECT id, CASE WHEN ifnull(name, '') = '' THEN 'thread ' || tid
                                            WHEN name IN programs AND count(*) OVER (PARTITION BY name) > 1 THEN name || ' (' || tid || ')' ELSE name END AS name FROM threads)
SELECT a.name AS allocated_by, f.name AS freed_by, s.name AS function, sum(x.blocks) AS blocks,
       sum(x.bytes) AS freed_bytes, count(DISTINCT x.freed_by) AS threads
FROM (SELECT thread, freed_by, stack, sum(stands_for) AS blocks, sum(bytes * stands_for) AS bytes
      FROM allocations WHERE freed_by <> thread GROUP BY thread, freed_by, stack) AS x
JOIN names AS a ON a.id = x.thread
JOIN names AS f ON f.id = x.freed_by
JOIN sites AS s ON s.stack = x.stack
GROUP BY a.name, f.name, s.name
ORDER BY freed_bytes DESC, s.name
LIMIT :top;
