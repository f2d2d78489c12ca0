-- Which call paths look like a leak: they allocated early, freed nothing, and still grow?
-- since = the middle of the recording: growth counts from this moment on, such as 10s or @warm
-- top = 10 (1..): show so many
-- needs sites.frees: what was freed
-- says: {function} has freed nothing and still grows: {early_bytes} then, {held_bytes} in {held_blocks|block} at the end.
-- says nothing: No call path that freed nothing has grown since {:since}.
SELECT w.name AS function, sum(w.start_bytes) AS early_bytes, sum(w.end_bytes) AS held_bytes, sum(w.end_blocks) AS held_blocks, w.path
FROM window(iif(:since IN ('half', 'the middle of the recording'), at('@end') / 2, at(:since))) AS w
JOIN sites AS s ON s.stack = w.stack
GROUP BY w.name, w.path
HAVING sum(s.frees) = 0 AND sum(w.start_blocks) > 0 AND sum(w.growth_blocks) > 0
ORDER BY sum(w.end_bytes) DESC, w.path
LIMIT :top;
