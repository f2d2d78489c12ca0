-- What does the report find, and which command shows more of it?
-- says: {finding}
-- says nothing: The report finds nothing.
SELECT severity, text AS finding, next
FROM findings
ORDER BY rank;
