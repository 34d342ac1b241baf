"""The extension that is loaded into Pi: it brings the session's MCP server and model, and tells what happens.

Pi's own configuration stays as it is, in the user's home too: an extension may register MCP servers and model providers
for one run (`registerMcpServer`, `registerProvider`; docs/extensions.md of version 1.6.0). A server in a `mcp.json`
would have to be written into the user's agent directory, and an agent directory of our own would hide the user's login
and conversations.
"""

import json
from collections.abc import Mapping, Sequence

from mcp_agent.adapter import ModelEndpoint

SERVER = "api-bridge"
PROVIDER = "gateway"
KEY_VARIABLE = "API_BRIDGE_MODEL_KEY"
DEFAULT_MODEL = "default"


def source(*, bridge: Sequence[str], events: Sequence[str], endpoint: ModelEndpoint | None, model: str | None) -> str:
    """The program, with all that is particular to one session in its first statement."""
    program, *arguments = bridge
    session = {
        "server": {"command": program, "args": arguments, "exposure": "direct"},
        "events": list(events),
        "provider": _provider(endpoint, model or DEFAULT_MODEL) if endpoint else None,
    }
    return f"const SESSION = {json.dumps(session, indent=1)};\n{_PROGRAM}"


def _provider(endpoint: ModelEndpoint, model: str) -> Mapping[str, object]:
    """A gateway by the API that most of them speak. The key is named here, and stands in the environment."""
    return {
        "baseUrl": f"{endpoint.base_url}/v1",
        "api": "openai-completions",
        "apiKey": f"${KEY_VARIABLE}",
        "models": [
            {
                "id": model,
                "name": model,
                "reasoning": False,
                "input": ["text"],
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                "contextWindow": 128000,
                "maxTokens": 16384,
            }
        ],
    }


_PROGRAM = r"""
import { spawn } from "node:child_process";

const textOf = ({ content }) =>
  typeof content === "string"
    ? content
    : content.filter((block) => block.type === "text").map((block) => block.text).join("\n");

// Resolves when the event is with the session, or cannot be: an event never disturbs the agent.
const handOver = (event) =>
  new Promise((resolve) => {
    const [program, ...args] = SESSION.events;
    const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"] });
    child.on("error", resolve);
    child.on("close", resolve);
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  });

export default function (pi) {
  pi.registerMcpServer("api-bridge", SESSION.server);
  if (SESSION.provider) pi.registerProvider("gateway", SESSION.provider);

  let told = Promise.resolve();
  const tell = (event) => (told = told.then(() => handOver(event)));

  let typed;
  let queued = false;
  let waiting = [];
  let run;
  let refused;
  const begin = () => {
    run = { final: undefined, usage: { input: 0, output: 0, cost: 0 } };
    refused = undefined;
  };
  begin();

  pi.on("session_start", (_event, ctx) => {
    const { sessionManager } = ctx;
    tell({
      event: "session_start",
      session_id: sessionManager.getSessionId(),
      transcript: sessionManager.getSessionFile() ?? null,
    });
  });

  // A prompt that starts a run is told when the run starts, since it may be refused until then; and before the run can
  // call a tool. One that was typed into a run which settled meanwhile starts one of its own, and is told again.
  pi.on("input", (event) => {
    typed = event.text;
    queued = Boolean(event.streamingBehavior);
    if (!queued) return;
    waiting.push(typed);
    tell({ event: "prompt", text: typed, queued });
  });
  pi.on("before_agent_start", (event) => {
    begin();
    const isTold = queued || event.messageType !== "user";
    return isTold ? undefined : tell({ event: "prompt", text: typed ?? event.prompt, queued: false });
  });

  pi.on("after_provider_response", (event) => {
    refused = event.status >= 400 ? { status: event.status, wait: event.headers["retry-after"] } : undefined;
  });
  pi.on("message_end", ({ message }) => {
    if (message.role === "user") waiting = waiting.filter((text) => text !== textOf(message));
    if (message.role !== "assistant") return;
    run.final = message;
    const { usage } = message;
    if (!usage) return;
    run.usage.input += usage.input + usage.cacheRead + usage.cacheWrite;
    run.usage.output += usage.output;
    run.usage.cost += usage.cost?.total ?? 0;
  });

  // What was typed into a run that is aborted comes back into the editor: it ends with its run, and a draft that stands
  // there by then is left alone.
  pi.on("agent_settled", (event, ctx) => {
    const { final, usage } = run;
    if (event.aborted && waiting.length && ctx.ui.getEditorText() === waiting.join("\n\n")) ctx.ui.setEditorText("");
    waiting = [];
    tell({
      event: "settled",
      aborted: event.aborted,
      stop_reason: final?.stopReason ?? null,
      error: final?.errorMessage ?? null,
      final_text: final ? textOf(final) : "",
      refused: refused ?? null,
      usage,
    });
    queued = false;
    begin();
  });

  pi.on("session_shutdown", () => told);
}
"""
