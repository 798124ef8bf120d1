// Messages as the stream helper of `@anthropic-ai/sdk` accumulates them.

import Anthropic from "@anthropic-ai/sdk";

import { Kinds, PARAMETERS, QUESTION, TOOL } from "./asking.mjs";

export async function readMessages(url) {
  const client = new Anthropic({ apiKey: "none", baseURL: url });
  const stream = client.messages.stream({
    model: "m",
    max_tokens: 1000,
    messages: [{ role: "user", content: QUESTION }],
    tools: [{ name: TOOL, input_schema: PARAMETERS }],
  });
  const kinds = new Kinds();
  const ids = new Set();
  for await (const event of stream) {
    kinds.add(event.delta?.type ?? event.type);
    if (event.message) ids.add(event.message.id);
  }
  const message = await stream.finalMessage();
  const text = message.content.filter((block) => block.type === "text").map((block) => block.text).join("");
  const calls = message.content.filter((block) => block.type === "tool_use").map((block) => [block.name, block.input]);
  return { text, calls, stop: message.stop_reason, kinds: kinds.list, ids: ids.size };
}
