"""Sessions after a crash: taken over, or gone on with in a new pane."""
