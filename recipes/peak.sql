-- What was live at the peak, and how much of it outlived it?
-- at = @peak: the moment
-- top = 10 (1..): show so many
-- needs (SELECT value FROM trace WHERE key = 'has_blocks') OR (:at = '@peak' AND EXISTS (SELECT 1 FROM sites WHERE peak_bytes IS NOT NULL)): what was live at that moment
-- says: {function} held most: {held_bytes}[ in {blocks|block}][, of which {never_freed_bytes} was never freed].
-- says nothing: No block was live at {:at}.
WITH known AS (SELECT value AS has_blocks FROM trace WHERE key = 'has_blocks'),
held AS (
  SELECT stack, sum(bytes * stands_for) AS bytes, sum(stands_for) AS blocks,
         sum(iif(freed_ns IS NULL, bytes * stands_for, 0)) AS never_freed_bytes, max(age_ns) AS oldest_ns
  FROM (SELECT 1 FROM known WHERE has_blocks) CROSS JOIN live(:at) GROUP BY stack
  UNION ALL -- profiles of other tools that have sums alone
  SELECT stack, peak_bytes, peak_blocks, NULL, NULL FROM (SELECT 1 FROM known WHERE NOT has_blocks) CROSS JOIN sites WHERE peak_bytes > 0)
SELECT s.name AS function, sum(h.bytes) AS held_bytes, sum(h.blocks) AS blocks, sum(h.never_freed_bytes) AS never_freed_bytes,
       max(h.oldest_ns) AS oldest_ns
FROM held AS h JOIN sites AS s ON s.stack = h.stack
GROUP BY s.name
ORDER BY held_bytes DESC, s.name
LIMIT :top;
