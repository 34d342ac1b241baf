"""The scripted agent's program: a small terminal agent that needs no download and speaks MCP to the bridge.

    python -I -m adapters.scripted_agent --config FILE

Standard library only, so that it starts fast. One thread owns all state and the screen; the others only read (keys,
bridge, model) or deliver events, and hand what they have to that one thread.
"""
