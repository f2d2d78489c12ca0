-- What did the program map itself, past its allocator?
-- top = 10 (1..): show so many
-- needs (SELECT value > 0 FROM trace WHERE key = 'started_unix_ns'): what the program mapped, as it is of another tool
-- says: {function} mapped most: {peak_bytes} at its most.
-- says nothing: The program mapped no memory itself.
SELECT ifnull(nullif(function, ''), path) AS function, calls, mapped_bytes, peak_bytes, end_bytes AS held_bytes, reserved_bytes
FROM mappings
ORDER BY peak_bytes DESC, function
LIMIT :top;
