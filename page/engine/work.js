// How much an answer may cost: elementary steps are counted, by the block, because a clock would not give the same twice.

// What cannot be: `code` is a key of page/strings.js, the other properties are facts for its words.
export class Refused extends Error {
  constructor(code, facts = {}) {
    super(code);
    this.name = "Refused";
    this.code = code;
    Object.assign(this, facts);
  }
}

export const refuse = (code, facts) => { throw new Refused(code, facts); };

const MOST = 3.3e8; // steps of a question, its picture included; a step is a few nanoseconds
let steps = 0;

export const begin = () => { steps = 0; };
export const spent = () => steps;

export function spend(more) {
  steps += more;
  if (steps > MOST) refuse("slow", { steps });
}
