-- Which call paths grew most after warm-up?
-- since = 0s: growth counts from this moment on, such as 10s or @warm
-- top = 10 (1..): show so many
-- says: {function} grew most since {:since}: by {grown_bytes}[, {blocks|block}].
-- says nothing: No call path holds more at the end than at {:since}.
SELECT name AS function, sum(growth_bytes) AS grown_bytes, sum(growth_blocks) AS blocks, sum(end_bytes) AS held_bytes, path
FROM window(:since)
GROUP BY name, path
HAVING sum(growth_bytes) > 0
ORDER BY sum(growth_bytes) DESC, path
LIMIT :top;
