import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from content_access_licensing import Client, ConflictError

from tests.documentation.blocks import block
from tests.documentation.running import ran
from tests.openapi.node import TOOLS, needs_node
from tests.served import Service

GUIDE = "docs/guides/clients.md"
IN_PYTHON = "from content_access_licensing import Client, ConflictError"


class OvertakenClient(Client):
    """After each of the first `rivals` reads, another writer changes the item."""

    rivals = 0

    def get_content(self, id: str, query: Any = None) -> Any:
        item = super().get_content(id, query)
        if self.rivals:
            self.update_content(id, {"tags": [*item["tags"], f"rival-{self.rivals}"]})
            self.rivals -= 1
        return item


# The same in TypeScript; the first argument is the number of conflicts.
OVERTAKEN = """
import { Client, getResponse } from "content-access-licensing";
import { addTag } from "./tags.js";
let [rivals, apiKey, baseUrl] = process.argv.slice(2);
class OvertakenClient extends Client {
  async getContent(id, query) {
    const item = await super.getContent(id, query);
    if (rivals > 0) await this.updateContent(id, { tags: [...item.tags, `rival-${rivals--}`] });
    return item;
  }
}
const client = new OvertakenClient({ apiKey, baseUrl });
const { id } = await client.createContent({ title: "Item", tags: ["first"] });
const refusal = await addTag(client, id, "mine").then(() => null, (error) => [error.code, getResponse(error).status]);
console.log(JSON.stringify([refusal, (await new Client({ apiKey, baseUrl }).getContent(id)).tags]));
"""


def test_the_loop_in_python_keeps_what_others_changed(service: Service):
    names: dict[str, Any] = {}
    exec(block(GUIDE, IN_PYTHON), names)  # noqa: S102
    with OvertakenClient(service.key, service.url, http=httpx.Client(trust_env=False)) as client:
        item = client.create_content({"title": "Item", "tags": ["first"]})["id"]
        client.rivals = 2
        names["add_tag"](client, item, "mine")
        assert {*client.get_content(item)["tags"]} == {"first", "rival-1", "rival-2", "mine"}
        client.rivals = 5
        with pytest.raises(ConflictError) as conflict:
            names["add_tag"](client, item, "late")
        assert conflict.value.code == "precondition_failed"


@needs_node
def test_the_loop_in_typescript_keeps_what_others_changed(service: Service, package: Path):
    (package / "tags").mkdir()
    (package / "tags" / "tags.ts").write_text(block(GUIDE, "import { ApiError"))
    (package / "tags" / "overtaken.mjs").write_text(OVERTAKEN)
    options = ["--strict", "--target", "es2022", "--module", "nodenext"]
    ran(TOOLS / "tsc", *options, "tags/tags.ts", cwd=package)

    def run(rivals: int) -> list[Any]:
        return json.loads(ran("node", "tags/overtaken.mjs", rivals, service.key, service.url, cwd=package))

    refusal, tags = run(2)
    assert (refusal, {*tags}) == (None, {"first", "rival-1", "rival-2", "mine"})
    assert run(5)[0] == ["precondition_failed", 412]
