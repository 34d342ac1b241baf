"""The tool server: HTTP on a unix socket, for the bridge and for people."""
