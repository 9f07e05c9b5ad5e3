// Every string of the page, in one file: to translate the page, translate this. A sentence that needs numbers is a function
// of texts that are formatted already; nothing here is markup.

const list = (items, last = "and") =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} ${last} ${items.at(-1)}`;
const called = name => (name && name !== "count" ? ` (${name})` : ""); // a file says count where nobody gave a name
const cap = text => text.charAt(0).toUpperCase() + text.slice(1);

export const S = {
  language: "en",
  title: "What does a noisy number still say?",
  lead: "Paste it with its footnote; back comes an interval that accounts for the noise.",
  stays: "Nothing leaves this page: it works without a network and sends nothing to anyone.",

  questions: {
    legend: "What do you want to know?",
    count: ["One count", "How many are there really?"],
    share: ["A share", "A part of a sample of known size: which share of the whole population is it?"],
    rate: ["A rate", "Two noisy counts, one a part of the other: which share of just those counted is it?"],
    compare: ["A against B", "Is A larger than B, and by how much?"],
    table: ["A table", "Several cells, with their total if it is printed"],
    hidden: ["Rounded or hidden", "A number that was rounded, cut off or left out"],
  },
  examples: {
    count: "312 people\nLaplace noise, ε = 0.5, sensitivity 1",
    share: "312 of 1150 people\nLaplace noise of scale 20",
    rate: "118 of 290 complaints\nLaplace noise of scale 10 in both numbers",
    compare: "North, 131\nSouth, 124\nLaplace noise, ε = 0.5, sensitivity 1",
    table:
      "Elm, 45\nOak, 20\nAsh, *\nFir, 310\ntotal, 385\nDiscrete Laplace noise of scale 2. Counts below 10 are hidden, the others rounded to 5.",
    hidden: "Ash: <10 households\nDiscrete Laplace noise of scale 2",
  },

  box: {
    label: "The number and its footnote, as they are printed",
    help: "A file may be dropped anywhere.",
    placeholder: "312 people\nLaplace noise, scale 2",
    file: "Open a file",
    example: "Show the example",
    clear: "Clear",
    drop: "Drop the file: it is read here and goes nowhere",
    pasted: "pasted text",
    large: (name, size) => `${name} (${size} characters, read but not shown here)`,
    unreadable: "This file could not be read as text.",
  },

  understood: {
    heading: "Read as",
    change: "Change what was read",
    file: "a release file of dp_bayes, unchanged since it was written",
    changed: "Changed by you.",
    back: "Back to the footnote",
    numbers: (names, shown) => names.map((name, k) => (name ? `${name} ${shown[k]}` : shown[k])),
    of: (part, all) => `${part} of ${all}`,
    noise: {
      none: "no noise",
      laplace: (size, whole) => `${whole ? "Laplace noise on whole numbers" : "Laplace noise"} of scale ${size}`,
      gaussian: (size, whole) =>
        `${whole ? "Gaussian noise on whole numbers" : "Gaussian noise"} of standard deviation ${size}`,
      own: "a footnote of its own for each number",
    },
    by: {
      epsilon: (e, s) => `from ε = ${e} and sensitivity ${s}`,
      rho: (r, s) => `from ρ = ${r} and sensitivity ${s}`,
      sd: v => `from standard deviation ${v}`,
      variance: v => `from variance ${v}`,
      error: (e, p) => `from ± ${e} at ${p}`,
    },
    printed: {
      none: "printed as it came out",
      rounded: step => `rounded to multiples of ${step}`,
      random: base => `rounded at random to multiples of ${base}`,
      hidden: below => `hidden if below ${below}`,
      cut: low => `moved to ${low} if below it`,
      cutBoth: (low, high) => `moved to ${low} if below it and to ${high} if above`,
      cutHigh: high => `moved to ${high} if above it`,
      within: (low, high) => `only known to be ${low} to ${high}`,
      atMost: high => `only known to be ${high} or less`,
      atLeast: low => `only known to be ${low} or more`,
      join: steps => (steps.length ? cap(steps.join(", then ")) : cap(S.understood.printed.none)),
    },
    cell: (name, what) => `${name}: ${what}`,
    exactTotal: "The total is exact",
  },

  notes: {
    // asked: there is no answer before they are settled
    no_number: () => "No number was found. Write it as it is printed, such as 312, <10 or 118 of 290.",
    no_footnote: () => "Nothing says which noise was added. Add the footnote to the box.",
    no_size: ({ law }) =>
      `${law ? `${cap(S.form.laws[law])} noise is named, but not how large it is` : "How large the noise is was not found"}. Add its scale, its standard deviation, ± an error, or ε and the sensitivity.`,
    epsilon_gaussian: () =>
      "ε and δ do not say how large Gaussian noise is: there are several formulas. Add its standard deviation, or ρ.",
    rho_laplace: () => "ρ says how large Gaussian noise is, and the footnote names Laplace noise. Which one is it? Laplace noise needs its scale, or ε and the sensitivity.",
    two_laws: () => "Two laws of noise are named. Which one is it?",
    bare: ({ size, law }) => `${cap(S.form.laws[law])} noise of ${size}: what is ${size}?`,
    bad_size: () => "The size of the noise must be a number above 0.",
    disagree: () => "The footnote gives the size twice, and the two do not agree. Which one is right?",
    either: ({ shown }) => `${shown} can be read in two ways. Which one is it?`,
    blank: ({ shown }) => `Is ${shown} one number? If there are several, write each on a line of its own, with its name before it.`,
    comma: ({ shown }) => `Is ${shown} one number? If there are two, write each on a line of its own, with its name before it.`,
    slash: ({ shown }) => `${shown}: is that a part of a whole, or a date?`,
    amount: ({ name }) => `“${name}” may be an amount or a measure. Is it a count of people or things?`,
    loose: ({ line, shown }) =>
      `“${line}” may be a number that is only about right, or one below 0. Is ${shown} what noise and rounding gave? A number below 0 needs its sign: −12.`,
    lambda: ({ size }) => `λ = ${size}: is it the scale of the noise, or its rate, which is 1 divided by the scale?`,
    which_order: () => "The numbers were rounded, and hidden below a limit. Which was done first? It changes the answer.",
    error_law: ({ error }) => `± ${error} does not say which kind of noise was added. Gaussian or Laplace?`,
    confidence: ({ error }) => `How sure is it that the noise is within ± ${error}?`,
    sensitivity: () => "How much can one person change the number?",
    torn: ({ line }) =>
      `“${line}” can be read in two ways: where does the name end and the number begin? Put a colon between them, and no blank or comma that is not part of a number.`,
    left_data: ({ lines, more }) =>
      `Not understood: ${lines.map(line => `“${line}”`).join(", ")}${more ? ` and ${more} more` : ""}. In a line of data, put a colon after the name: Region 1: 50.`,
    labels: ({ name }) => `Does the column “${name}” name the rows, or does it hold counts?`,
    left_noise: ({ lines, more }) =>
      `Not understood: ${lines.map(line => `“${line}”`).join(", ")}${more ? ` and ${more} more` : ""}. It may say something about the noise or the printing that would change the answer. Write it in other words, or leave it out if it does not matter.`,
    several: ({ key, values }) =>
      `${S.names[key]} is given as ${list(values)}. Which of them goes with this number?`,
    none_too: () => "One part of the text says that there is no noise, another one that there is. Which one holds for this number?",
    cut: ({ shown }) => `“${shown}” was understood only in part. Write the number by itself, worked out and in full.`,
    denied: ({ shown }) =>
      `“${shown}” may deny, restrict or change what was read, and was not understood. Write what holds for this number, without it.`,
    marks: ({ mark }) =>
      `Not all of the numbers have the mark ${mark}. Is the noise of all of them the same?`,
    sums: ({ name }) => `Is “${name}” a sum or a part of other lines? A table here has single cells, and one total of them all. Leave it out, or say that it is a cell of its own.`,
    unwritten: ({ shown }) => `“${shown}” was not understood as a number. Write it with all of its digits: 312000.`,
    printed_first: () =>
      "Was this number rounded or hidden before the noise was added? This page computes only with noise that came first.",
    short: ({ shown }) => `“${shown}” was shortened. Write the number in full, and what it was rounded to.`,
    bad_confidence: () => "How sure the ± is must be from 50% to below 100%.",
    which_column: () => "Several columns have numbers. Which one is asked about?",
    column_noise: ({ name }) =>
      `The column “${name}” and the footnote both say how large the noise is. Which one holds for these numbers?`,
    no_count: ({ name }) => `“${name}” is no count. This page computes with numbers of people or things, and with shares of them: 312 of 1150.`,
    two_columns: ({ names }) => `${list(names.map(name => `“${name}”`))} both say how large the noise is. Leave one of them out.`,
    columns_unread: ({ names }) =>
      `Not understood: the ${names.length > 1 ? "columns" : "column"} ${list(names.map(name => `“${name}”`))}. It may say something about the numbers that would change the answer.`,
    two_footnotes: () => "The numbers have noise of their own, and there is a footnote for all of them. Leave one of them out.",
    n_rounded: ({ n }) => `Was the ${n}, which the share is of, rounded or noised in the same way?`,
    n_printed: ({ n }) =>
      `The ${n}, which the share is of, was printed in another way than the count. This page and the Python lines take both to be printed alike.`,
    sizes_noisy: () =>
      "Two shares are compared here only where the numbers that they are of are exact. Ask for each share by itself, or compare the counts.",
    one_of: () => "Only one of the two has a number that it is a part of. Give it for both, or for none.",
    year: ({ name, shown }) => `${name ? `${name} ${shown}` : shown}: is ${shown} a year or a count?`,
    confidences: () => "How sure the ± is was said in more than one way. Which one is right?",
    interval: ({ low, high, confidence }) =>
      `${low} to ${high} at ${confidence} is an interval, not a footnote of noise. Is it an interval of the noise around the number?`,
    bases: () => "Rounded at random to multiples of what? Two are named.",
    found_several: ({ numbers }) =>
      `Found ${list(numbers)}, but not which is which. Write each on a line of its own, with its name before it: A: ${numbers[0]}.`,
    found: ({ numbers }) =>
      numbers.length > 1
        ? `Found ${list(numbers)}: which one is the number asked about?`
        : `Found ${numbers[0]}: is it the number asked about?`,
    headless: ({ part, whole }) =>
      `The columns have no headings. Is ${part} a part of ${whole}, with a name before them?`,
    mark: ({ mark }) =>
      mark
        ? `What does “${mark}” stand for? A count that was hidden because it was below …`
        : "What does the empty cell stand for? A count that was hidden because it was below …",
    n_whole: ({ n }) =>
      `${n ?? "The number of people"} must be a whole number, 1 or more, to be the number that a share is of.`,
    lacks_rounded: () => "Rounded to multiples of what? Write: rounded to 5.",
    lacks_random: () => "Rounded at random to which base? Write: randomly rounded to base 3.",
    beyond_law: () =>
      "This kind of noise is not one that this page can compute with. It knows Laplace, Gaussian and geometric noise, rounding and hiding.",
    beyond_percent: () =>
      "Percentages are not read, because noise is added to counts. Write the count and the number that it is a part of: 312 of 1150.",
    beyond_random: () =>
      "What was random here was not understood. Write: randomly rounded to base 3, or name the noise.",
    beyond_units: () => "Numbers in thousands are not read. Write them in full.",
    beyond_rounded_up: () =>
      "Rounding always up or always down is not one that this page can compute with. The Python package can: Rounded(5, ties=…), Within(low, high).",
    // misfit: the text answers another question
    one_number: () => "There are several numbers here. One count is one number.",
    one_share: () => "There are several shares here. Ask for one of them, or for A against B.",
    two_numbers: () => "A share needs the number that it is a part of: 312 of 1150.",
    two_noisy_numbers: () => "A rate needs two counts: 118 of 290.",
    two_to_compare: () => "A comparison needs two numbers, each on a line.",
    two_cells: () => "A table needs two cells or more, each on a line: Elm, 45.",
    // assumed: what else it may mean stands beside it
    no_noise: () => "No noise is mentioned, so none is taken to be there.",
    instead: ({ wanted, taken }) =>
      `Read as “${S.questions[taken][0]}” instead of “${S.questions[wanted][0]}”, which was chosen.`,
    law: ({ law, by }) =>
      by === "epsilon"
        ? "No law of noise is named. ε alone goes with Laplace noise."
        : `No law of noise is named. ${cap(S.form.laws[law])} noise was taken.`,
    gaussian_scale: () => "The scale of Gaussian noise was taken to be its standard deviation.",
    order: ({ printed }) => `The order matters: ${printed}.`,
    of_unused: ({ n }) => `The ${n} is not used for this question.`,
    n_exact: ({ n }) => `${n} is taken to be exact.`,
    home: ({ either }) => `${either} was read as it is written in your language.`,
    n_rounded_too: ({ n }) => `${n} is taken to be rounded too.`,
    n_noisy: ({ n }) => `${n} is taken to have the noise of the footnote too.`,
    column: ({ name }) => `Several columns have numbers. ${name ? `“${name}”` : "The first"} was taken.`,
    compared: ({ a, b }) => `${a ?? "The first"} is compared with ${b ?? "the second"}.`,
    total: ({ name }) => `“${name}” is the total of the others.`,
    no_total: () => "No line is the total of the others.",
    categories: () =>
      "The file says how many records there are in all. The page answers how many of them are in each category. For the probabilities of the categories use fit(Release.load(…)) in Python.",
    seal: ({ source, simulated }) =>
      `The seal is unbroken${source ? `. Source: ${source}` : ""}${simulated ? ". The numbers are simulated: they are nobody’s" : ""}.`,
    left: ({ lines, more }) =>
      `Not used: ${lines.map(line => `“${line}”`).join(", ")}${more ? ` and ${more} more` : ""}`,
    // refused
    too_long: ({ characters }) =>
      `This text has ${characters} characters, which is more than this page reads. Take the Python package for large tables.`,
    many_lines: ({ lines }) => `${lines} lines are more than this page takes: 200. Use fit_many of the Python package.`,
    too_large: () => "This file is too large to be a release.",
    not_json: () => "This is not a release file: it is no JSON object.",
    not_valid_json: () => "This file is not valid JSON: it was cut short or edited. Get a fresh copy.",
    too_deep: () => "This file is nested too deeply to be a release.",
    key_twice: ({ key }) => `This file says “${key}” twice. It was edited; get a fresh copy.`,
    a_ledger: () => "This file is a ledger of a privacy budget, not a release.",
    not_ours: () => "This JSON is no release file of dp_bayes.",
    another_schema: ({ schema }) => `This release file has schema ${schema}. A newer version of this page may read it.`,
    other_keys: () => "This release file lacks something, or says something that no release says. Get a fresh copy.",
    broken_seal: () =>
      "This file was changed after it was written: its seal is broken. Nothing is computed from it. Get a fresh copy.",
    cannot_model: ({ family, rows }) =>
      `This file is a release of ${family} with ${S.count(rows, "number")}. The page answers counts, shares and tables of them; for this one use “dp-bayes fit”, or the Python lines below.`,
    cannot_matrix: ({ family, rows }) =>
      `This file (${family}, ${S.count(rows, "number")}) has sums of some of its cells. The page takes single cells and one total of all; for this one use “dp-bayes fit”, or the Python lines below.`,
    cannot_noisy_n: ({ family }) =>
      `This file (${family}) has a number of records that is limited or noisy in a way that the page does not compute with: use “dp-bayes fit”, or the Python lines below.`,
    cannot_statement: ({ family, rows }) =>
      `This file (${family}, ${S.count(rows, "number")}) was printed, or its noise drawn, in a way that the page does not compute with: use “dp-bayes fit”, or the Python lines below.`,
    cannot_grid: ({ family, rows }) =>
      `The noise of this file (${family}, ${S.count(rows, "number")}) lies on a grid that the page does not compute with: use “dp-bayes fit”, or the Python lines below.`,
    cannot_many: ({ rows }) =>
      `This file has ${rows} cells, which is more than this page takes: 200. Use “dp-bayes fit”, or the Python lines below.`,
    unreadable: () => S.box.unreadable,
  },

  // what the engine refuses, by its code
  refused: {
    otherwise: () => "These numbers and this footnote cannot be computed with. Check both.",
    number: () => "A number is missing, or too large to compute with.",
    law: () => "This law of noise is not one that the page knows.",
    size: () => "The size of the noise must be 0 or more.",
    step: () => "The step of the rounding must be above 0.",
    base: () => "The base of random rounding must be a whole number, 2 or more.",
    printing: () => "What was done before printing is not something that the page knows.",
    limits: () => "The two limits must be in order.",
    perturbed: () =>
      "Random rounding is of whole numbers: say that the noise is on whole numbers, or that there is none.",
    blank: () =>
      "A number that is not printed needs a footnote that says when numbers are hidden: counts below 10 are hidden.",
    order: () => "The footnote hides numbers twice, or does something after it. Check the order.",
    multiple: ({ value, step }) => `${value} is not a multiple of ${step}, so it cannot have been rounded to that.`,
    slow: () => "This would take the page too long. Try the Python package with the lines below: it draws samples instead.",
    large: () => "Too many numbers may be behind this one. Check the size of the noise and of the rounding.",
    printed: ({ value }) =>
      value === undefined || value === null
        ? "A footnote such as this one prints no such number."
        : `A footnote such as this one never prints ${value}. Check both.`,
    negative: ({ value }) =>
      `${value === undefined || value === null ? "The number" : value} is too far below 0 for this noise. Check the footnote.`,
    between: ({ value }) =>
      `No whole number is near enough to ${value} for this noise. True counts are whole: check the number and the footnote.`,
    above: ({ value, most }) =>
      `${value} is too far above ${most}, which is all there are, for this noise. Check both numbers.`,
    far: () => "These numbers are so far apart that nothing fits them all. Check the numbers and the footnote.",
    endless: () => "Nothing says how large this number may be, so there is no interval.",
    n: () => "The number that a share is of must be a whole number, 1 or more.",
    prior: () => "The prior must be two numbers above 0.",
    zero: () => "The number that a rate is a part of is 0, so there is no rate.",
    total: ({ value, cells }) =>
      `The total ${value} is too far from what the cells add up to, ${cells}, for this noise. Is the last line their total?`,
    part: ({ part, whole }) =>
      `${part ?? "The part"} is too far above ${whole ?? "the whole"} for this noise, and a part is not larger than the whole.`,
    cells: () => "A table needs a cell or more.",
    kind: () => "This is not one of the six questions.",
  },

  choices: {
    law: { laplace: "Laplace noise", gaussian: "Gaussian noise" },
    sensitivity: value => `By ${value} at most`,
    confidence: value => `It is ${value}`,
    one_sd: "It is one standard deviation",
    bare: { scale: "The scale", sd: "The standard deviation", variance: "The variance", rate: "The rate" },
    slash: { of: "A part of a whole", year: "A year" },
    counts: "It is a count",
    loose: value => `It is ${value}`,
    decimal: value => value,
    mark: value => value,
    leave: "Leave it out",
    noisy: "There was noise",
    marks: "It is the same",
    sums: "It is a cell of its own",
    noise_first: "No, the noise came first",
    sizes: { column: "The column", footnote: "The footnote" },
    pick: value => value,
    of: { true: "Yes", false: "No, they are two columns" },
    year: { year: "A year", count: "A count" },
    interval: law => `Yes, of ${law}`,
    labels: { true: "It names the rows", false: "It holds counts" },
    n_noisy: { true: "It is noisy too", false: "It is exact" },
    total: { true: "The last line is the total", false: "It is a cell of its own" },
    column: name => name ?? "the next column",
    question: name => `Ask for ${S.questions[name][0].toLowerCase()}`,
    read_as: name => `Read it as “${S.questions[name][0]}”`,
    printed: words => words,
    by: words => words,
    none: "There was no noise",
    fields: "Choose it from fields",
  },

  form: {
    noise: "Noise",
    by: "Its size is given by",
    size: "Size",
    sensitivity: "Sensitivity",
    whole: "On whole numbers only",
    printed: "Printed",
    step: "Number",
    a: "A",
    b: "B",
    laws: { none: "none", laplace: "Laplace", gaussian: "Gaussian" },
    ways: {
      scale: "scale",
      sd: "standard deviation",
      error: "± at 95%",
      epsilon: "ε and sensitivity",
      rho: "ρ and sensitivity",
    },
    prints: {
      none: "as it came out",
      rounded: "rounded to multiples of",
      random: "rounded at random, to base",
      hidden: "hidden if it is below",
      cut: "cut off at 0 if it is negative",
      text: "as the footnote says",
    },
  },

  answer: {
    heading: "Answer",
    interval: (low, high) => `${low} to ${high}`,
    exactly: "exactly",
    said: "95% interval",
    below: value => `below ${value}`,
    above: value => `above ${value}`,
    ours: "accounts for the noise",
    naive: "ignores the noise",
    printedMark: value => `printed ${value}`,
    hiddenMark: "not printed",
    equal: "equal",
    what: {
      count: name => name ?? "true count",
      share: name => (name ? `share in the population: ${name}` : "share in the population"),
      rate: name => (name ? `share of those counted: ${name}` : "share of those counted"),
      compare: (a, b) => `${a} minus ${b}`,
      compareShares: (a, b) => `share of ${a} minus share of ${b}, in percentage points`,
      table: "all cells together",
    },
    probability: (a, b) => `probability that ${a} is larger than ${b}`,
    ratio: (a, b) => `${a} divided by ${b}`,
    probabilityShares: (a, b) => `probability that the share of ${a} is larger than that of ${b}`,
    ratioShares: (a, b) => `share of ${a} divided by share of ${b}`,
    noRate: "probability that nobody is there, so that there is no rate",
    columns: ["cell", "printed", "median", "95% interval"],
    none: "none",
    hidden: "hidden",
    waiting: "No answer yet",
    computing: "Computing …",
    picture: "Picture",
    cells: count => `${count} cells`,
    unprinted: "—", // a cell that is in the total only
    broken: "This could not be read. Nothing is shown, rather than something wrong.",
  },
  noise: {
    heading: "What the noise did",
    all: "Of the width of the interval, all is noise and printing: the people are counted, not sampled, so without noise the number would be exact.",
    allNoise:
      "Of the width of the interval, all is noise: the people are counted, not sampled, so without noise the number would be exact.",
    allPrinting:
      "Of the width of the interval, all is rounding or hiding: the people are counted, not sampled, so without it the number would be exact.",
    none: "Nothing: no noise and no rounding widen the interval.",
    share: share => `Of the width of the interval, ${share} is noise.`,
    unknown: "The number was not printed: all that is known of it comes from its footnote.",
  },
  naive: {
    heading: "If you ignore the noise",
    exact: value => `You would take ${value} as exact, with no interval.`,
    interval: (median, low, high) =>
      `${median}, 95% interval ${low} to ${high}. It is too sure: the noise is not in it.`,
    same: (median, low, high) => `${median}, 95% interval ${low} to ${high}: the same, because there is no noise.`,
    nothing: "There is nothing to go by: the number was not printed.",
    cells: "You would take each printed number as exact, and have nothing for a hidden one.",
  },
  quote: {
    heading: "A sentence to quote",
    count: ({ what, printed, low, high }) =>
      `${printed ? `The published count${called(what)} is ${printed}. ` : ""}The true count${printed ? "" : called(what)} is between ${low} and ${high} (95% interval, which accounts for the published noise).`,
    hidden: ({ what, printed, low, high }) =>
      `The count${called(what)}, ${printed ? `printed as ${printed}` : "which is not printed"}, is between ${low} and ${high} (95% interval, from what the footnote says of noise and printing).`,
    share: ({ name, printed, all, median, low, high }) =>
      `Published: ${name ? `${name}, ` : ""}${printed ?? "a hidden number"} of ${all}. The share is ${median} (95% interval ${low} to ${high}, which accounts for sampling and for the noise in the published numbers).`,
    rate: ({ name, printed, all, median, low, high }) =>
      `Published: ${name ? `${name}, ` : ""}${printed ?? "a hidden number"} of ${all}. The rate among those counted is ${median} (95% interval ${low} to ${high}, which accounts for the noise in both published counts).`,
    compareShares: ({ a, b, median, low, high, above }) =>
      `The share of ${a} minus that of ${b} is ${median} percentage points (95% interval ${low} to ${high}, which accounts for sampling and for the noise of both). The probability that the share of ${a} is larger is ${above}.`,
    compare: ({ a, b, median, low, high, above }) =>
      `${a} minus ${b} is ${median} (95% interval ${low} to ${high}, which accounts for the noise of both). The probability that ${a} is larger is ${above}.`,
    exactTable: ({ cells, low }) =>
      `The ${cells} cells together hold ${low}; the 95% interval of each cell, which accounts for noise and printing, is in the table.`,
    table: ({ cells, low, high }) =>
      `The ${cells} cells together hold between ${low} and ${high} (95% interval, which accounts for noise and printing); the interval of each cell is in the table.`,
  },
  python: {
    heading: "The same in Python",
    lead: "With the package dp_bayes_nb. The numbers agree up to the error of its draws.",
    source: "typed on a page",
  },
  copy: { button: "Copy", done: "Copied", failed: "Press Ctrl+C" },
  about: {
    heading: "What is assumed",
    count: "Before the number was seen, every whole number from 0 on was held to be equally likely.",
    share:
      "The people are a sample of a larger population. Before the count was seen, every share from 0 to 1 was held to be equally likely.",
    rate: "The part and the rest are counts of these people. Before the numbers were seen, all pairs of counts were held to be equally likely.",
    compare:
      "Both numbers have noise of their own. Before they were seen, all pairs of counts were held to be equally likely.",
    compareShares:
      "Both groups are samples. Before the counts were seen, all pairs of shares were held to be equally likely.",
    table:
      "Each cell and the total have noise of their own. Before the numbers were seen, all tables of counts were held to be equally likely.",
    footnote: "That the noise is as the footnote says cannot be checked from here.",
  },
  names: { epsilon: "ε", rho: "ρ", sensitivity: "The sensitivity", a: "A", b: "B", cell: k => `cell ${k}` },
  footer: [
    "Median and interval are computed exactly, not simulated.",
    "This page is part of dp_bayes_nb, a package for Bayesian inference from differentially private statistics. It answers six questions; the package answers many more.",
  ],
  list,
  cap,
  count: (k, word) => `${k} ${word}${String(k) === "1" ? "" : "s"}`,
};
