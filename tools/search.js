// The ranking of the site's search: pages before headings, names of the package where a name was typed, running text
// last. It stands in for Fuse, with the one method that the pages call. Tested by tests/test_search.py, in Node.
(function (root) {
  const STOP = new Set("a an and are as at by can do does for from how i in is it my of on or that the this to what which with".split(" "));
  const FIELDS = [["title", 10], ["words", 10], ["section", 7], ["subtitle", 5], ["text", 1]];
  const KINDS = { page: 1.6, name: 1.15, heading: 1 };
  const stem = (w) => w.replace(/'s$/, "").replace(/ies$/, "y").replace(/(ing|ed|es|s|ly|e)$/, (end, _, at) => at > 2 ? "" : end);
  const split = (s) => (s || "").toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "").match(/[a-z0-9ε]+(?:'s)?/g) || [];
  const wordsOf = (s) => split(s).map(stem);

  class Search {
    constructor(entries) {
      this.rows = entries.map((item) => ({
        item, plain: FIELDS.map(([field]) => new Set(wordsOf(field === "title" && item.kind !== "page" ? "" : item[field]))),
        whole: [item.kind === "page" ? item.title : "", item.section].map((s) => wordsOf(s).join(" ")),
        phrases: (item.words || "").split(",").map((s) => wordsOf(s).join(" ")),
      }));
      this.count = new Map();  // in how many entries a word stands: rare words weigh more
      this.rows.forEach((row) => new Set(row.plain.flatMap((set) => [...set]))
        .forEach((word) => this.count.set(word, (this.count.get(word) || 0) + 1)));
      this.vocabulary = [...this.count.keys()];
    }

    weight(word) { return Math.log(1 + this.rows.length / (1 + (this.count.get(word) || 0))); }

    score(row, tokens, query) {
      let total = 0, found = 0;
      for (const { exact, longer, weight } of tokens) {
        let best = 0;
        row.plain.forEach((set, k) => {
          const value = FIELDS[k][1];
          if (value > best && set.has(exact)) best = value;
          else if (0.6 * value > best && longer.some((word) => set.has(word))) best = 0.6 * value;
        });
        if (best) found += weight;
        total += weight * best;
      }
      if (!found) return 0;
      const all = tokens.reduce((sum, token) => sum + token.weight, 0);
      let score = total * (found / all) ** 2 / all;
      if (row.whole.includes(query)) score += 8;
      if (row.phrases.includes(query)) score += 12;
      return score * KINDS[row.item.kind];
    }

    search(text, options) {
      let words = split(text);
      if (words.some((w) => !STOP.has(w))) words = words.filter((w) => !STOP.has(w));
      const stems = words.map(stem), query = wordsOf(text).join(" ");
      const tokens = stems.map((exact) => ({
        exact, weight: this.weight(exact),
        longer: exact.length < 3 ? [] : this.vocabulary.filter((word) => word !== exact && word.startsWith(exact)),
      }));
      const typed = text.trim().replace(/\(.*\)$/, "");
      return this.rows.map((row, order) => {
        const name = row.item.kind === "name" && row.item.section === typed && /[A-Z_]/.test(typed);
        return { item: row.item, order, score: this.score(row, tokens, query) + (name ? 100 : 0) };
      }).filter((hit) => hit.score > 0).sort((a, b) => b.score - a.score || a.order - b.order)
        .slice(0, (options || {}).limit || 20);
    }
  }
  root.Fuse = Search;
  if (typeof module !== "undefined") module.exports = Search;
})(typeof window !== "undefined" ? window : globalThis);
