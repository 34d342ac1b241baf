"""Questions that are put to a running CLI through the public API."""
