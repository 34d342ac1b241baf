"""The report of a scenario: a record of the run, and a pure function from it to each format."""
