"""Questions about what an adapter answers; nothing is started for them."""
