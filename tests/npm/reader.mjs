// Reads answers with the unmodified SDKs from npm, as their users do. Each line on stdin is one answer to read,
// {"reader", "url"}; each line on stdout is what the SDK made of it, or the error that it raised.

import { createInterface } from "node:readline";

import { readWithAi } from "./read_ai.mjs";
import { readMessages } from "./read_anthropic.mjs";
import { readChat, readResponses } from "./read_openai.mjs";

const READERS = {
  "openai chat": readChat,
  "openai responses": readResponses,
  "anthropic messages": readMessages,
  "ai openai chat": (url) => readWithAi("chat", url),
  "ai openai responses": (url) => readWithAi("responses", url),
  "ai anthropic": (url) => readWithAi("anthropic", url),
  "ai google": (url) => readWithAi("google", url),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { reader, url } = JSON.parse(line);
  let told;
  try {
    told = { read: await READERS[reader](url) };
  } catch (error) {
    told = { error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(JSON.stringify(told) + "\n");
}
