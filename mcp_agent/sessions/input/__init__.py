"""What goes into a session: texts, commands and interrupts, one at a time and with proof."""
