"""What people come for, and how far it is: from the home page of _docs/ to the page with the answer, in Chromium, by
links alone and by search alone. `python tools/tasks.py`, after `make docs`, writes the clicks to results/tasks.json.
"""

import json
import re
import sys
from collections import deque
from pathlib import Path
from typing import NamedTuple

from browse import DOCS, FLAGS, chromium, serve

ROOT = Path(__file__).resolve().parent.parent
HOME = "index.html"


class Task(NamedTuple):
    "A question, as somebody would type it, and where it is answered."
    who: str  # "analyst" or "data holder"
    query: str  # typed into the search
    notebook: str  # the page with the answer
    call: str  # shown there


TASKS = {
    "an interval for a published count": Task(
        "analyst", "interval for a published count", "recipes/01_one_count.ipynb", "fit("),
    "is A larger than B": Task("analyst", "is A larger than B", "recipes/04_larger.ipynb", "fit("),
    "a mean income": Task("analyst", "mean income", "recipes/03_mean_income.ipynb", "fit("),
    "a logistic regression from margins": Task(
        "analyst", "logistic regression from margins", "recipes/07_logistic.ipynb", "fit("),
    "which weeks changed": Task("analyst", "which weeks changed", "recipes/05_weeks.ipynb", "contrast("),
    "release a table with a budget": Task(
        "data holder", "release a table with a privacy budget", "recipes/14_first_count.ipynb", "release("),
    "the budget for a wished width": Task(
        "data holder", "how large must epsilon be", "recipes/11_wished_width.ipynb", "plan("),
    "persons with several rows": Task(
        "data holder", "people with several rows", "recipes/09_many_rows.ipynb", "person="),
    "publish an account of the budget": Task(
        "data holder", "publish what was spent", "recipes/15_account.ipynb", "ledger_report("),
}


def address(notebook):
    "The page of a notebook."
    return re.sub(r"(^|/)\d\d_", r"\1", notebook).replace(".ipynb", ".html")


def path_to(goal, links, start=HOME):
    "The shortest way by links, as pages after the first one; None where there is none."
    ways, waiting = {start: []}, deque([start])
    while waiting and goal not in ways:
        here = waiting.popleft()
        for page in links(here):
            if page not in ways:
                ways[page] = [*ways[here], page]
                waiting.append(page)
    return ways.get(goal)


def walked(page, base, task):
    "Clicks to the answer of a task by links, and by search, in a browser; the way is walked."
    goal = base + address(task.notebook)

    def links(name):
        page.goto(base + name)
        found = page.eval_on_selector_all("main a[href], nav.navbar a[href]", """each => each.filter(
            e => e.checkVisibility() && e.origin === location.origin).map(e => e.href.split("#")[0])""")
        return list(dict.fromkeys(each.removeprefix(base) for each in found))

    way = path_to(address(task.notebook), links)
    page.goto(base + HOME)
    for name in way:
        page.evaluate("""name => [...document.querySelectorAll("main a[href], nav.navbar a[href]")]
            .find(e => e.checkVisibility() && e.href.split("#")[0] === name).click()""", base + name)
        page.wait_for_url(re.compile(re.escape(base + name)))
    assert page.url.split("#")[0] == goal and task.call in page.inner_text("main"), (task, page.url)
    page.goto(base + HOME)
    page.fill("#quarto-search input", task.query)
    page.wait_for_selector(".search-result")
    page.click(".search-result")
    page.wait_for_load_state()
    assert page.url.split("#")[0] == goal and task.call in page.inner_text("main"), (task, page.url)
    return {"who": task.who, "page": address(task.notebook), "links": len(way), "search": 1, "query": task.query}


def main():
    if chromium() is None:
        sys.exit("tasks: Chromium was not found")
    from playwright.sync_api import sync_playwright

    server = serve(DOCS)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        found = {name: walked(page, f"http://127.0.0.1:{server.server_port}/", task) for name, task in TASKS.items()}
        browser.close()
    server.shutdown()
    (ROOT / "results" / "tasks.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for name, row in found.items():
        print(f"{row['who']:12} {name:36} {row['links']} by links, {row['search']} by search: {row['page']}")


if __name__ == "__main__":
    main()
