"""The private tmux server: control-mode connection, panes, deaths."""
