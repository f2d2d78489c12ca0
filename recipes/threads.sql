-- Which threads allocate?
-- top = 10 (1..): show so many
-- needs threads.allocations: which thread allocates
-- says: {thread} allocates most: {allocated_bytes} in {allocations|allocation}.
-- says nothing: No thread is known to have allocated.
WITH programs AS (SELECT threads.name FROM processes JOIN threads ON threads.tid = processes.pid),
names AS MATERIALIZED (SELECT *, CASE WHEN ifnull(name, '') = '' THEN 'thread ' || tid
                                            WHEN name IN programs AND count(*) OVER (PARTITION BY name) > 1 THEN name || ' (' || tid || ')' ELSE name END AS thread FROM threads)
SELECT thread, count(*) AS threads, sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes,
       sum(frees) AS frees, sum(foreign_frees) AS foreign_frees
FROM names
GROUP BY thread
HAVING sum(allocations) > 0 OR sum(frees) > 0
ORDER BY sum(allocated_bytes) DESC, thread
LIMIT :top;
