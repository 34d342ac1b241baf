"""Sessions: one provider CLI in one persistent tmux pane."""
