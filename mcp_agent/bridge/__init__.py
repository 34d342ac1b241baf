"""The programs that a provider CLI starts: standard library only, they import nothing of ours."""
