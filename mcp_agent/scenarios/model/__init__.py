"""A model server on loopback that computes its answers from the conversation that it is sent.

`async with ScriptedModel.serve() as model` gives a `base_url` that speaks three model APIs. Prompts are the sentences
of `mcp_agent.scenarios.prompts`; anything else is echoed.
"""

from mcp_agent.scenarios.model.brain import answer
from mcp_agent.scenarios.model.journal import RecordedRequest
from mcp_agent.scenarios.model.server import LOOPBACK_KEY, ScriptedModel

__all__ = ["LOOPBACK_KEY", "RecordedRequest", "ScriptedModel", "answer"]
