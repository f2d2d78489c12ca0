-- Which processes are there, and what does each hold?
-- says: {name} (process {pid})[ held most: {peak_bytes}][ after {peaked_ns}].
-- says nothing: The trace has no process.
SELECT name, pid, peak_bytes, peak_ns AS peaked_ns, peak_rss_bytes, allocations, end_bytes AS held_bytes, ended
FROM processes
ORDER BY peak_bytes DESC, id;
