// Chat completions and responses as the stream helpers of `openai` accumulate them.

import OpenAI from "openai";

import { Kinds, PARAMETERS, QUESTION, TOOL } from "./asking.mjs";

const client = (url) => new OpenAI({ apiKey: "none", baseURL: `${url}/v1` });

export async function readChat(url) {
  const stream = client(url).chat.completions.stream({
    model: "m",
    messages: [{ role: "user", content: QUESTION }],
    tools: [{ type: "function", function: { name: TOOL, parameters: PARAMETERS } }],
  });
  const kinds = new Kinds();
  const ids = new Set();
  stream.on("chunk", (chunk) => ids.add(chunk.id));
  for (const kind of ["content.delta", "content.done", "tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"])
    stream.on(kind, () => kinds.add(kind));
  const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0];
  const calls = (message.tool_calls ?? []).map(({ function: called }) => [called.name, JSON.parse(called.arguments)]);
  return { text: message.content ?? "", calls, stop: finish_reason, kinds: kinds.list, ids: ids.size };
}

export async function readResponses(url) {
  const stream = client(url).responses.stream({
    model: "m",
    input: QUESTION,
    tools: [{ type: "function", name: TOOL, parameters: PARAMETERS, strict: true }],
  });
  const kinds = new Kinds();
  const ids = new Set();
  for await (const event of stream) {
    kinds.add(event.type);
    if (event.response) ids.add(event.response.id);
  }
  const response = await stream.finalResponse();
  const called = response.output.filter((item) => item.type === "function_call");
  const calls = called.map((item) => [item.name, JSON.parse(item.arguments)]);
  return { text: response.output_text, calls, stop: response.status, kinds: kinds.list, ids: ids.size };
}
