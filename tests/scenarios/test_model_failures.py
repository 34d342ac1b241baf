"""A served model that fails as it was told to, and comes back."""

from collections.abc import Mapping

import anyio
import httpx
import pytest

from mcp_agent.scenarios.model import LOOPBACK_KEY, ScriptedModel
from mcp_agent.scenarios.model.failures import Refusal

pytestmark = pytest.mark.anyio

USED_UP = Refusal(429, "come back later", {"retry-after": "7"}, {"type": "used_up", "resets_at": 3})


async def asked(model: ScriptedModel, path: str, body: Mapping[str, object]) -> httpx.Response:
    headers = {"x-api-key": LOOPBACK_KEY}
    with anyio.fail_after(30):
        async with httpx.AsyncClient(base_url=model.base_url, headers=headers, trust_env=False) as client:
            return await client.post(path, json=body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {"messages": [{"role": "user", "content": "one"}]}),
        ("/v1/responses", {"input": "one"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "one"}]}),
    ],
)
async def test_a_refusal_has_the_words_the_headers_and_the_details_that_were_scripted(
    path: str, body: Mapping[str, object]
) -> None:
    async with ScriptedModel.serve() as model:
        model.refuse_with(USED_UP)
        refused = await asked(model, path, body)
        model.refuse_with(None)
        answered = await asked(model, path, body)

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    error = refused.json()["error"]
    assert (error["message"], error["type"], error["resets_at"]) == ("come back later", "used_up", 3)
    assert (answered.status_code, model.journal.refusals) == (200, 1)


async def test_a_server_that_was_down_comes_back_at_its_address_with_its_journal() -> None:
    async with ScriptedModel.serve() as earlier:
        await asked(earlier, "/v1/responses", {"input": "one"})
    port = int(earlier.base_url.rpartition(":")[2])
    with pytest.raises(httpx.ConnectError):
        await asked(earlier, "/v1/responses", {"input": "two"})
    async with ScriptedModel.serve(port=port, journal=earlier.journal) as later:
        answered = await asked(earlier, "/v1/responses", {"input": "three"})

    assert (later.base_url, answered.status_code, len(later.requests)) == (earlier.base_url, 200, 2)
