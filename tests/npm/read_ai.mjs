// The same answers through the Vercel AI SDK, which has a client of its own for each provider.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { jsonSchema, streamText, tool } from "ai";

import { Kinds, PARAMETERS, QUESTION, TOOL } from "./asking.mjs";

const MODELS = {
  chat: (url) => createOpenAI({ apiKey: "none", baseURL: `${url}/v1` }).chat("m"),
  responses: (url) => createOpenAI({ apiKey: "none", baseURL: `${url}/v1` }).responses("m"),
  anthropic: (url) => createAnthropic({ apiKey: "none", baseURL: `${url}/v1` })("m"),
  google: (url) => createGoogleGenerativeAI({ apiKey: "none", baseURL: `${url}/v1beta` })("m"),
};

export async function readWithAi(model, url) {
  const result = streamText({
    model: MODELS[model](url),
    prompt: QUESTION,
    tools: { [TOOL]: tool({ inputSchema: jsonSchema(PARAMETERS) }) },
    onError: () => {}, // it would be logged; the stream tells of it too
  });
  const kinds = new Kinds();
  const ids = new Set();
  for await (const part of result.stream) {
    if (part.type === "error") throw part.error;
    kinds.add(part.type);
    if (part.type === "finish-step") ids.add(part.response.id);
  }
  const calls = (await result.toolCalls).map((call) => [call.toolName, call.input]);
  return { text: await result.text, calls, stop: await result.finishReason, kinds: kinds.list, ids: ids.size };
}
