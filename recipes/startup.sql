-- What does startup keep, and what does the work after it add?
-- until = a tenth of the recording: the end of startup, such as 2s or @warm
-- top = 10 (1..): show so many
-- says: {function} holds most at the end: {held_bytes}; after startup ({:until}) it held {startup_bytes}.
-- says nothing: Nothing is live after startup ({:until}) or at the end.
SELECT name AS function, sum(start_bytes) AS startup_bytes, sum(growth_bytes) AS later_bytes, sum(end_bytes) AS held_bytes,
       sum(allocations) AS later_allocations
FROM window(iif(:until = 'a tenth of the recording', at('@end') / 10, at(:until)))
GROUP BY name
HAVING sum(start_bytes) > 0 OR sum(end_bytes) > 0
ORDER BY sum(end_bytes) DESC, sum(start_bytes) DESC, function
LIMIT :top;
