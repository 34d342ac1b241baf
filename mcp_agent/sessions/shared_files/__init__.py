"""JSON files of other people that a session needs an addition in: put in, counted, and taken out again."""
