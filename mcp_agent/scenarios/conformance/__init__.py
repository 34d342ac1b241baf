"""The conformance suite: what every adapter must get right, asked one small question at a time.

`described` questions need no process: they ask the adapter itself. `asked` ones drive its CLI through the public API.
"""
