"""Tool calls: how long one is waited for, and what is known of its outcome."""
