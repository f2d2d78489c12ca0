-- Which call paths allocate here that did not in another trace (--other)?
-- top = 10 (1..): show so many
-- needs sites.allocations: how often it allocated
-- says: {function} is new, with {allocated_bytes} in {allocations|allocation}; {held_bytes} were still allocated at the end.
-- says nothing: Every call path that allocates here did so in the other trace too.
SELECT name AS function, sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes, sum(end_bytes) AS held_bytes, path
FROM sites
WHERE allocations > 0 AND path NOT IN (SELECT path FROM other.sites WHERE allocations > 0)
GROUP BY path
ORDER BY sum(allocated_bytes) DESC, path
LIMIT :top;
