-- Which threads allocated the large blocks that were live at the peak and had been for long?
-- over = 1M: blocks larger than this
-- age = 10s: and older than this
-- at = @peak: the moment
-- top = 10 (1..): show so many
-- needs (SELECT value FROM trace WHERE key = 'has_times'): how old blocks are
-- needs threads.allocations: which thread allocates
-- says: {thread} allocated most of them in {function}: {blocks|block}, {held_bytes}.
-- says nothing: No block larger than {:over} that is live at {:at} is older than {:age}.
SELECT ifnull(nullif(t.name, ''), 'thread ' || t.tid) AS thread, s.name AS function, sum(l.blocks) AS blocks, sum(l.bytes) AS held_bytes,
       max(l.largest_bytes) AS largest_bytes, max(l.oldest_ns) AS oldest_ns
FROM (SELECT thread, stack, sum(bytes * stands_for) AS bytes, sum(stands_for) AS blocks, max(bytes) AS largest_bytes,
             max(age_ns) AS oldest_ns
      FROM live(:at) WHERE bytes > :over AND age_ns > at(:age) GROUP BY thread, stack) AS l
JOIN threads AS t ON t.id = l.thread
JOIN sites AS s ON s.stack = l.stack
GROUP BY l.thread, s.name
ORDER BY held_bytes DESC, thread, s.name
LIMIT :top;
