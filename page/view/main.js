// The page: what is in the box, what is asked, and the answer to it, drawn anew at each key.

import { S } from "../strings.js";
import { QUESTIONS, read } from "../reader/index.js";
import { begin } from "../engine/index.js";
import { Refused, answered } from "./answer.js";
import { curve, interval } from "./chart.js";
import { at, h, put } from "./dom.js";
import { form } from "./form.js";
import { python, uniqueNames } from "./python.js";
import { choiceWords, noteWords, refusedWords, told, understood } from "./words.js";
import { chosenQuestion, cleared, instead, replaced, typedText } from "./state.js";
import { BLANKS, DECIMAL, plain, whole } from "./format.js";

const MOST_BYTES = 2 ** 24,
  SHOWN_IN_BOX = 60000;
const state = { question: "count", pinned: false, wanted: null, text: S.examples.count, file: null, chosen: {}, opened: false };
const SLOW = 50; // milliseconds of an answer, above which the next one waits for a pause in typing
let took = 0,
  waiting = null;
let drawn = null; // { reading, answer, words }, for a change of the window's width

const isExample = text => text.trim() === "" || QUESTIONS.some(each => S.examples[each] === text);

// ---- what is read and answered ----

function update({ keepForm = false } = {}) {
  const start = performance.now();
  clearTimeout(waiting);
  let reading = null,
    refused = null;
  try {
    reading = readAll();
  } catch (error) {
    refused = error;
    reading = { kind: "refused", question: null, asks: null, rows: [], footnote: null, notes: [] };
  }
  const shown = reading.question ?? state.question;
  if (reading.kind !== "empty") state.question = shown;
  const unanswered = reading.kind === "file" && !reading.question;
  for (const each of QUESTIONS) at(`q-${each}`).checked = !unanswered && each === shown;
  put(at("question-says"), unanswered ? "" : S.questions[shown][1]);
  try {
    drawAnswer(reading, !refused && reading.asks && settled(reading) ? answered(reading.asks) : null);
  } catch (error) {
    refused = error;
    drawAnswer(error.code === "slow" ? reading : { ...reading, asks: null }, null); // never an answer of before, nor Python for none
  }
  if (refused && !(refused instanceof Refused)) console.error(refused);
  drawReading(reading, refused, keepForm);
  took = performance.now() - start;
  document.body.classList.remove("stale");
}

function readAll() {
  const question = state.pinned ? state.question : null,
    reading = read(state.text, { question, chosen: state.chosen, home: DECIMAL, blanks: BLANKS });
  if (state.file && reading.kind === "file") reading.file = state.file;
  const other = instead(state, reading);
  if (other) reading.notes.unshift(other);
  return reading;
}

const settled = reading =>
  !reading.notes.some(note => note.kind === "asked" || note.kind === "misfit" || note.kind === "refused");

function choose(choice) {
  if (choice.key === "question") {
    Object.assign(state, chosenQuestion(choice.value));
  } else state.chosen = { ...state.chosen, [choice.key]: choice.value };
  update();
}

// ---- what was read ----

function drawReading(reading, refused, keepForm) {
  const all = reading.kind === "empty" || reading.rows.length === 0 ? [] : understood(reading),
    lines = reading.notes.some(note => DOUBTS.has(note.code) && note.kind === "asked") ? all.slice(0, 1) : all;
  put(
    at("understood"),
    lines.map(line => h("li", {}, line, " ")),
  );
  at("read").hidden = reading.kind === "empty";
  at("understood-heading").hidden = lines.length === 0;
  const notes = reading.notes.filter(note => worthSaying(note, reading)).map(note => drawNote(note, reading));
  if (refused) notes.unshift(h("li", { class: "refused" }, h("span", {}, refused instanceof Refused ? refusedWords(refused) : S.answer.broken)));
  put(at("notes"), notes);
  const changed = state.chosen.noise !== undefined || state.chosen.printed !== undefined;
  put(
    at("changed"),
    changed
      ? [
          S.understood.changed,
          " ",
          h(
            "button",
            {
              type: "button",
              class: "plain",
              onclick: () => {
                state.chosen = {};
                update();
              },
            },
            S.understood.back,
          ),
        ]
      : [],
  );
  const possible = reading.kind === "text" && reading.rows.length > 0 && !reading.own;
  const pairs = reading.kind === "file" && reading.question === "compare" && reading.all?.length > 2;
  at("change").hidden = !possible && !pairs;
  if (pairs) {
    put(at("form"));
    drawPair(reading);
  }
  if (!keepForm && possible) {
    form(at("form"), reading, given => {
      state.chosen = { ...state.chosen, ...given };
      update({ keepForm: true });
    });
    drawPair(reading);
  }
}

// What was read of the noise, but may mean something else, is not shown as if it held.
const DOUBTS = new Set(["cut", "denied", "which_order", "left_noise", "printed_first", "column_noise", "two_footnotes", "columns_unread"]);

// Once something has to be settled, what was taken besides is not said yet.
function worthSaying(note, reading) {
  if (note.code === "no_number" && reading.notes.some(other => other.kind === "asked" && other !== note)) return false;
  if (note.kind === "asked" || note.kind === "misfit" || note.kind === "refused" || note.code === "seal" || note.code === "instead") return true;
  return settled(reading) || note.kind === "unread";
}

function drawNote(note, reading) {
  const choices = note.choices.map(choice =>
    h("button", { type: "button", class: "choice", onclick: () => choose(choice) }, choiceWords(choice)),
  );
  if (note.kind === "misfit" && reading.suggested && reading.suggested !== reading.question) {
    choices.push(
      h(
        "button",
        { type: "button", class: "choice", onclick: () => choose({ key: "question", value: reading.suggested }) },
        S.choices.read_as(reading.suggested),
      ),
    );
  }
  if (note.kind === "misfit" && reading.kind !== "file" && !state.file)
    choices.push(
      h("button", { type: "button", class: "choice", onclick: () => example(state.question) }, S.box.example),
    );
  if (["no_footnote", "no_size", "epsilon_gaussian"].includes(note.code) && reading.rows.length) {
    choices.unshift(
      h(
        "button",
        {
          type: "button",
          class: "choice",
          onclick: () => {
            at("change").open = true;
            at("f-law").focus();
          },
        },
        S.choices.fields,
      ),
    );
  }
  return h(
    "li",
    { class: note.kind },
    h("span", {}, noteWords(note)),
    choices.length ? h("span", { class: "choices" }, choices) : null,
  );
}

// Which two of many are compared.
function drawPair(reading) {
  if (reading.question !== "compare" || !reading.all || reading.all.length < 3) {
    put(at("pair"));
    return;
  }
  const pick = (key, otherwise) => {
    const node = h(
      "select",
      { id: `pick-${key}`, onchange: event => choose({ key, value: Number(event.target.value) }) },
      uniqueNames(reading.all).map((name, k) => h("option", { value: k }, name)),
    );
    node.value = String(state.chosen[key] ?? otherwise);
    return h("p", { class: "field" }, h("label", { for: `pick-${key}` }, S.form[key]), node);
  };
  put(at("pair"), pick("a", 0), pick("b", 1));
}

// ---- the answer ----

function drawAnswer(reading, answer) {
  const own = reading.kind === "file" && !(reading.other && reading.asks);
  const code = own || settled(reading) ? python(reading) : null; // no lines for what is in doubt
  at("python-part").hidden = code === null;
  put(at("python"), code ?? "");
  at("answer").hidden = answer === null;
  at("waiting").hidden = answer !== null || ["empty", "file", "refused"].includes(reading.kind);
  at("about").hidden = answer === null;
  drawn = answer ? { reading, answer, words: told(reading, answer) } : null;
  if (!drawn) {
    put(
      at("live"),
      reading.notes
        .filter(note => note.kind !== "read")
        .map(noteWords)
        .join(" "),
    );
    return;
  }
  const { words } = drawn;
  put(at("label"), words.label);
  put(at("big"), words.big);
  put(at("between"), words.between);
  put(at("unit"), words.unit);
  put(
    at("extra"),
    words.extra.map(({ value, text, more }) =>
      h("div", {}, h("dt", {}, text), h("dd", {}, h("strong", {}, value), more ? ` ${more}` : "")),
    ),
  );
  at("extra").hidden = words.extra.length === 0;
  put(at("did"), words.noise ?? "");
  at("did-part").hidden = words.noise === null;
  put(at("naive"), words.naive);
  put(at("quote"), words.quote);
  put(at("assumed"), `${words.about} ${S.about.footnote}`);
  put(at("live"), words.quote);
  drawPicture();
}

function drawPicture() {
  if (!drawn) return;
  const { reading, answer, words } = drawn,
    width = Math.max(260, Math.floor(at("answer").clientWidth));
  if (answer.cells) {
    put(at("picture"));
    drawTable(reading, answer, width);
    return;
  }
  put(at("table"));
  const { asks, rows } = reading,
    value = rows[0].cell.value;
  const printed =
    asks.kind === "count"
      ? value
      : asks.kind === "share" && typeof asks.n === "number" && value !== null
        ? value / asks.n
        : asks.kind === "rate" && value !== null && asks.whole.value
          ? value / asks.whole.value
          : null;
  const exact = answer.posterior.quantile(0.0001) === answer.posterior.quantile(0.9999);
  put(
    at("picture"),
    exact
      ? []
      : curve(
          {
            posterior: answer.posterior,
            interval: answer.interval,
            naive: answer.naive?.interval ?? null,
            printed,
            printedAs: asks.kind === "count" && printed !== null ? plain(printed) : null,
            zero: asks.kind === "compare" ? 0 : null,
            grained: asks.kind === "rate",
            written: words.write,
            described: `${S.answer.picture}. ${words.label}: ${words.big}, ${words.unit} ${words.between}. ${words.naive}`,
          },
          width,
        ),
  );
}

function drawTable(reading, answer, width) {
  const narrow = width < 560,
    wide = narrow ? 90 : 180;
  const all = [...answer.cells];
  const reach = Math.max(1, ...all.flatMap(cell => cell.interval.map(end => Math.abs(end - cell.median))));
  const names = uniqueNames(reading.rows);
  const line = (name, row, { median, interval: [low, high] }, kind = "") =>
    h(
      "tr",
      { class: kind },
      h("th", { scope: "row" }, name),
      h(
        "td",
        { class: "number" },
        !row || row.unprinted ? S.answer.unprinted : row.cell.value === null ? S.answer.hidden : plain(row.cell.value),
      ),
      h("td", { class: "number strong" }, whole(median)),
      h("td", { class: "number" }, low === high ? S.answer.exactly : S.answer.interval(whole(low), whole(high))),
      narrow
        ? null
        : h(
            "td",
            { class: "drawn" },
            kind ? null : interval({ low, middle: median, high, printed: row?.cell.value ?? null }, reach, wide),
          ),
    );
  put(
    at("table"),
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, S.answer.heading),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          S.answer.columns.map(text => h("th", { scope: "col" }, text)),
          narrow ? null : h("td", {}),
        ),
      ),
      h(
        "tbody",
        {},
        all.map((cell, k) => line(names[k], reading.rows[k], cell)),
        line(reading.total?.name ?? S.answer.what.table, reading.total, answer, "total"),
      ),
    ),
  );
}

// ---- what people do ----

function example(question) {
  Object.assign(state, { question, pinned: true, text: S.examples[question], file: null, chosen: {} });
  showText();
  update();
}

function showText(text = state.text) {
  at("box").value = text;
  at("box").readOnly = state.file !== null && text !== state.text;
  at("change").open = false;
}

function typed(text, { anew = false } = {}) {
  Object.assign(state, typedText(state, text, anew));
  clearTimeout(waiting);
  if (took > SLOW) {
    document.body.classList.add("stale"); // the answer that is still there is to another text
    waiting = setTimeout(update, 200);
  } else update();
}

// Another text in the place of what there was. A long one is not put into the box: to lay out its lines takes long.
const isLong = text => text.length > SHOWN_IN_BOX && !/^\s*\{/u.test(text);
function anew(text) {
  if (isLong(text)) {
    Object.assign(state, replaced(text, S.box.pasted));
    showText(S.box.large(S.box.pasted, plain(text.length)));
    update();
    return;
  }
  Object.assign(state, replaced(text));
  showText();
  update();
}

async function opened(file) {
  if (!file) return;
  let text = null;
  if (file.size <= MOST_BYTES)
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      text = null;
    }
  if (text === null) {
    put(
      at("notes"),
      drawNote(
        { kind: "refused", code: file.size > MOST_BYTES ? "too_large" : "unreadable", facts: {}, choices: [] },
        {},
      ),
    );
    at("read").hidden = false;
    return;
  }
  Object.assign(state, replaced(text, file.name));
  showText(text.length > SHOWN_IN_BOX || /^\s*\{/u.test(text) ? S.box.large(file.name, plain(text.length)) : text);
  update();
}

async function copy(button, source) {
  const text = source.textContent;
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    getSelection().selectAllChildren(source);
    done = document.execCommand("copy");
  }
  put(button, done ? S.copy.done : S.copy.failed);
  setTimeout(() => put(button, S.copy.button), 2000);
}

function listen() {
  at("box").addEventListener("input", event =>
    typed(event.target.value, { anew: event.inputType === "insertFromPaste" && isExample(state.text) }),
  );
  at("box").addEventListener("paste", event => {
    const box = at("box");
    const text = event.clipboardData.getData("text/plain");
    if (box.readOnly || isLong(text)) {
      event.preventDefault();
      anew(text);
    } else if (box.selectionStart === 0 && box.selectionEnd === box.value.length) {
      Object.assign(state, { pinned: false, chosen: {} });
    }
  });
  // An example makes room for what is pasted or typed.
  let entered = false;
  at("box").addEventListener("focus", () => {
    entered = isExample(state.text);
    if (entered) at("box").select();
  });
  at("box").addEventListener("mouseup", () => {
    if (entered && at("box").selectionStart === at("box").selectionEnd) at("box").select();
    entered = false;
  });
  for (const each of QUESTIONS)
    at(`q-${each}`).addEventListener("change", () => {
      if (state.text.trim() !== "" && isExample(state.text) && !state.file) {
        state.wanted = each;
        example(each);
      } else {
        Object.assign(state, chosenQuestion(each));
        update();
      }
    });
  at("file").addEventListener("change", event => {
    opened(event.target.files[0]);
    event.target.value = "";
  });
  at("open").addEventListener("click", () => at("file").click());
  at("example").addEventListener("click", () => example(state.question));
  at("clear").addEventListener("click", () => {
    Object.assign(state, cleared());
    showText();
    update();
    at("box").focus();
  });
  for (const [button, source] of [
    ["copy-quote", "quote"],
    ["copy-python", "python"],
  ])
    at(button).addEventListener("click", event => copy(event.currentTarget, at(source)));
  document.addEventListener("dragover", event => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", event => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
  });
  document.addEventListener("drop", event => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    const text = event.dataTransfer.getData("text/plain");
    if (event.dataTransfer.files.length) opened(event.dataTransfer.files[0]);
    else if (text) anew(text);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      begin(); // drawn again, it costs no more than before
      drawPicture();
    }
  });
}

// Words of the page itself stand in it by their keys.
function speak() {
  document.documentElement.lang = S.language;
  document.title = S.title;
  for (const node of document.querySelectorAll("[data-say]")) {
    put(
      node,
      node.dataset.say.split(".").reduce((found, key) => found[key], S),
    );
  }
  put(
    at("questions"),
    QUESTIONS.map(each =>
      h(
        "span",
        { class: "question" },
        h("input", { type: "radio", name: "question", id: `q-${each}`, value: each }),
        h("label", { for: `q-${each}` }, S.questions[each][0]),
      ),
    ),
  );
  at("box").placeholder = S.box.placeholder;
}

speak();
listen();
showText();
update();
took = 0; // the first time, everything is new
