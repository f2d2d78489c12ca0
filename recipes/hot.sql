-- Which functions took most CPU time?
-- top = 10 (1..): show so many
-- says: {function} took {cpu_ns} itself, {_pct} % of {_all_ns} of CPU time.
-- says nothing: No thread was seen on a CPU.
WITH spent AS MATERIALIZED (
  SELECT function, sum(weight_ns) AS ns, sum(samples) AS n FROM ticks WHERE state = 'cpu' GROUP BY function)
SELECT function, ns AS cpu_ns, round(100.0 * ns / sum(ns) OVER (), 1) AS pct, n AS samples,
       sum(ns) OVER () AS _all_ns, round(100.0 * ns / sum(ns) OVER (), 1) AS _pct
FROM spent
ORDER BY ns DESC, function
LIMIT :top;
