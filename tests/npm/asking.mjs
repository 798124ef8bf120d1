// What every reader asks for, and how it tells what it saw.

export const QUESTION = "Tell me about reefs.";
export const TOOL = "depth";
export const PARAMETERS = {
  type: "object",
  properties: { where: { type: "string" }, metres: { type: "number" } },
  required: ["where", "metres"],
  additionalProperties: false,
};

// The kinds of events in the order of their coming, runs of one kind as one.
export class Kinds {
  list = [];

  add(kind) {
    if (this.list.at(-1) !== kind) this.list.push(kind);
  }
}
