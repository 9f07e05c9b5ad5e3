// What a person has set: the text, the question and whether it was chosen by hand, and what was settled besides.
// Each function gives what changes. A chosen question stays until another text takes the place of the whole; then a line says so.

export const chosenQuestion = question => ({ question, pinned: true, wanted: question });

export const cleared = () => ({ text: "", file: null, chosen: {} });

// Another text, typed into the box, or in the place of what there was.
export function typedText(state, text, anew) {
  const fresh = anew || state.text.trim() === "" || text.trim() === "";
  return { text, file: null, ...(fresh && { chosen: {} }), ...(anew && { pinned: false }) };
}
export const replaced = (text, file = null) => ({ text, file, pinned: false, chosen: {} });

// What is said where a text was read as another question than the one that was chosen; null where it was not.
export function instead({ pinned, wanted }, reading) {
  if (pinned || !wanted || !reading.question || reading.question === wanted || reading.kind === "file") return null;
  return {
    kind: "assumed",
    code: "instead",
    facts: { wanted, taken: reading.question },
    choices: [{ key: "question", value: wanted }],
  };
}
