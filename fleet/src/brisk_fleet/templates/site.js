"use strict";
(function () {
  const table = document.getElementById("table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const search = document.getElementById("search");
  const kind = document.getElementById("class");
  const ranked = document.getElementById("ranked");
  document.querySelector("form.filter").hidden = false;
  document.querySelector("form.filter").addEventListener("submit", (event) => event.preventDefault());
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.cells[0].textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word)) && (!kind.value || row.dataset.class === kind.value) &&
        (!ranked.checked || row.dataset.ranked === "1");
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    document.getElementById("count").textContent = shown + " of " + rows.length + " models";
    document.getElementById("none").hidden = shown > 0;
  }
  for (const control of [search, kind, ranked]) control.addEventListener("input", filter);
  function key(row, index, type) {
    const cell = row.cells[index];
    return type === "number" ? Number(cell.dataset.value) : cell.textContent.trim().toLowerCase();
  }
  Array.from(table.tHead.rows[0].cells).forEach((head, index) => {
    const type = head.dataset.sort;
    if (!type) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      rows.sort((a, b) => {
        const x = key(a, index, type), y = key(b, index, type);
        return sign * (x < y ? -1 : x > y ? 1 : 0);
      });
      body.append(...rows);
    });
  });
  filter();
})();
