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

// What Pi's editor makes of a paste.
const flat = (text) => text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").trim();
const PASTE = /^\x1b\[200~([\s\S]*)\x1b\[201~$/;

// Resolves when the event is with the session, or cannot be: an event never disturbs the agent.
const handOver = (event) =>
  new Promise((resolve) => {
    const [program, ...args] = SESSION.events;
    const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"] });
    child.on("error", () => resolve());
    child.on("close", () => resolve());
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  });

export default function (pi) {
  pi.registerMcpServer("api-bridge", SESSION.server);
  if (SESSION.provider) pi.registerProvider("gateway", SESSION.provider);

  let told = Promise.resolve();
  const tell = (event) => (told = told.then(() => handOver(event)));

  let prompt = { text: "", isTold: true };
  let waiting = [];
  let pasted = "";
  let stopListening = () => {};
  let answer;
  let usage;
  const begin = () => {
    answer = undefined;
    usage = { input: 0, output: 0, cost: 0 };
  };
  begin();

  // Blank space before a draft is trimmed with it; a draft that begins with a word does not look like a dialog.
  const hear = (data, ui) => {
    const found = PASTE.exec(data);
    if (!found) return undefined;
    pasted = found[1];
    return ui.getEditorText() ? undefined : { data: `\x1b[200~${pasted.trimStart()}\x1b[201~` };
  };
  pi.on("session_start", (_event, { sessionManager, ui, mode }) => {
    if (mode === "tui") stopListening = ui.onTerminalInput((data) => hear(data, ui));
    const transcript = sessionManager.getSessionFile() ?? null;
    tell({ event: "session_start", session_id: sessionManager.getSessionId(), transcript });
  });

  // The model gets tabs and line ends as they were pasted.
  //
  // A prompt that starts a run may be refused until the run begins, so it is told then; and before the run can call a
  // tool. One that was typed into a run which ended meanwhile starts one of its own, and is told once more.
  const accept = () => {
    if (prompt.isTold) return undefined;
    prompt.isTold = true;
    return tell({ event: "prompt", text: prompt.text, queued: false });
  };
  pi.on("input", (event) => {
    const queued = Boolean(event.streamingBehavior);
    const text = flat(pasted) === event.text ? pasted.trim() : event.text;
    prompt = { text, isTold: queued };
    if (queued) {
      waiting.push(text);
      tell({ event: "prompt", text, queued });
    }
    return text === event.text ? undefined : { action: "transform", text, images: event.images };
  });
  pi.on("session_before_compact", ({ reason }) => (reason === "manual" ? undefined : accept()));
  pi.on("before_agent_start", ({ messageType }) => {
    begin();
    return messageType === "user" ? accept() : undefined;
  });

  pi.on("message_end", ({ message }) => {
    if (message.role === "user") waiting = waiting.filter((text) => text !== textOf(message));
    if (message.role !== "assistant") return;
    answer = message;
    usage.input += message.usage.input + message.usage.cacheRead + message.usage.cacheWrite;
    usage.output += message.usage.output;
    usage.cost += message.usage.cost.total;
  });

  // What was typed into an aborted run comes back into the editor. It ends with its run, unless somebody typed more.
  pi.on("agent_settled", ({ aborted }, { ui }) => {
    if (aborted && waiting.length && flat(ui.getEditorText()) === flat(waiting.join("\n\n"))) ui.setEditorText("");
    if (!aborted && waiting.includes(prompt.text)) prompt.isTold = false;
    waiting = [];
    tell({
      event: "settled",
      aborted,
      stop_reason: answer?.stopReason ?? null,
      error: answer?.errorMessage ?? null,
      final_text: answer ? textOf(answer) : "",
      usage,
    });
    begin();
  });

  pi.on("session_shutdown", () => {
    stopListening();
    return told;
  });
}
"""
