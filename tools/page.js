// What each page of the site does before smalldocs.js: the sidebar stands at the current page, and code can be copied.
(() => {
  const bar = document.getElementById("quarto-sidebar"), here = bar && bar.querySelector("a.active");
  const top = (element) => element.getBoundingClientRect().top;
  if (here) bar.scrollTop = top(here) - top(bar) - bar.clientHeight / 3;
  for (const code of document.querySelectorAll("main div.sourceCode:has(> pre.code-with-copy)")) {
    const box = document.createElement("div"), button = document.createElement("button");
    box.className = "code-copy-outer-scaffold";
    button.className = "code-copy-button";
    button.title = "Copy to Clipboard";
    button.innerHTML = '<i class="bi"></i>';
    code.replaceWith(box);
    box.append(code, button);
  }
})();
