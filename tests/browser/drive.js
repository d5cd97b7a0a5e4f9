// Drives the page of a report as a person does, and writes what it saw into the page, where the test finds it.
window.addEventListener("load", async () => {
  const seen = {};
  const errors = [];
  window.addEventListener("error", (event) => errors.push(event.message));
  document.addEventListener("securitypolicyviolation", (event) => errors.push("policy: " + event.blockedURI));
  const frame = () => new Promise((done) => setTimeout(done, 80));
  const go = async (hash) => { location.hash = hash; await frame(); };
  const rows = () => [...document.querySelectorAll("a.row")];
  const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  try {
    await frame();
    seen.title = document.querySelector("h1").textContent;
    seen.cards = document.querySelectorAll(".card").length;
    // Zoom into the treemap and out again.
    const canvas = document.querySelector("canvas");
    press(canvas, "ArrowRight"); press(canvas, "Enter"); await frame();
    seen.zoomed = document.querySelectorAll(".crumbs button").length;
    press(canvas, "Backspace"); await frame();
    seen.unzoomed = document.querySelectorAll(".crumbs button").length;
    // The table: every row by scrolling, few at a time.
    await go("#/kernels");
    seen.total = document.querySelector(".tablehead .soft").textContent;
    seen.drawn = rows().length;
    const scroll = document.querySelector(".scroll");
    scroll.scrollTop = scroll.scrollHeight; scroll.dispatchEvent(new Event("scroll")); await frame();
    seen.last = rows().length && rows()[rows().length - 1].querySelector(".name").textContent;
    // Sort by registers, both ways.
    const sort = (name) => [...document.querySelectorAll(".row.head button")].find((button) => button.textContent.startsWith(name)).click();
    const registers = () => parseInt(rows()[0].children[1].textContent, 10);
    sort("Registers"); seen.most = registers();
    sort("Registers"); seen.least = registers();
    // Search.
    const search = document.getElementById("search");
    const started = performance.now();
    search.value = "needle"; search.dispatchEvent(new Event("input")); await frame();
    seen.found = rows().map((row) => row.querySelector(".name").textContent);
    seen.searched_ms = Math.round(performance.now() - started);
    search.value = ""; search.dispatchEvent(new Event("input")); await frame();
    // A kernel's page, with the call path that forces its registers and the call tree.
    await go("#/function/0/0");
    seen.kernel = document.querySelector("h1").textContent;
    seen.blame = [...document.querySelectorAll(".chain")].map((chain) => chain.textContent);
    const open = document.querySelector("ul.tree button:not([disabled])");
    if (open) { open.click(); await frame(); }
    seen.tree = document.querySelectorAll("ul.tree li").length;
    press(document.body, "t"); await frame();
    seen.theme = document.documentElement.dataset.theme;
    seen.views = [];
    for (const tab of [...document.querySelectorAll("#tabs a")].map((tab) => tab.getAttribute("href"))) {
      await go(tab);
      seen.views.push(document.querySelector("h1").textContent);
      if (document.documentElement.scrollWidth > innerWidth) errors.push(tab + " is " + document.documentElement.scrollWidth + " wide, the window " + innerWidth);
    }
    seen.scripts = document.querySelectorAll("script").length;
    seen.images = document.querySelectorAll("img, iframe, object").length;
    seen.alarm = window.alarm || 0;
  } catch (error) { errors.push(String(error && error.stack || error)); }
  seen.errors = errors;
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
});
