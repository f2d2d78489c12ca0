-- Which thread made the spike? Blocks that are live at the peak and were allocated shortly before it.
-- at = @peak: the top of the spike
-- within = 1s: how long before it the spike began
-- top = 10 (1..): show so many
-- needs (SELECT value > 0 FROM trace WHERE key = 'started_unix_ns'): which thread allocates, as it is of another tool
-- says: {thread} made most of it: {held_bytes} in {blocks|block} within {:within} before, most in {function}.
-- says nothing: No block that is live at {:at} was allocated within {:within} before it.
WITH programs AS (SELECT threads.name FROM processes JOIN threads ON threads.tid = processes.pid),
names AS MATERIALIZED (SELECT id, CASE WHEN ifnull(name, '') = '' THEN 'thread ' || tid
                                            WHEN name IN programs AND count(*) OVER (PARTITION BY name) > 1 THEN name || ' (' || tid || ')' ELSE name END AS name FROM threads),
young AS (
  SELECT thread, stack, sum(bytes * stands_for) AS bytes, sum(stands_for) AS blocks
  FROM live(:at) WHERE age_ns <= at(:within) GROUP BY thread, stack)
SELECT t.name AS thread, sum(y.bytes) AS held_bytes, sum(y.blocks) AS blocks,
       (SELECT s.name FROM young AS m JOIN sites AS s ON s.stack = m.stack WHERE m.thread = y.thread
        GROUP BY s.name ORDER BY sum(m.bytes) DESC, s.name LIMIT 1) AS function
FROM young AS y JOIN names AS t ON t.id = y.thread
GROUP BY y.thread
ORDER BY held_bytes DESC, thread
LIMIT :top;
