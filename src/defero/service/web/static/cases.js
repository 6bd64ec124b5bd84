// A CSV file goes into the text field, as many cases as a request may hold; the page says what was left out.
"use strict";

// Split where a line ends outside quotes: a text may have lines of its own.
const recordsOf = (text) => {
  const records = [];
  let start = 0, quoted = false;
  for (let place = 0; place < text.length; place += 1) {
    if (text[place] === '"') quoted = !quoted;
    if (text[place] === "\n" && !quoted) {
      records.push(text.slice(start, place));
      start = place + 1;
    }
  }
  records.push(text.slice(start));
  return records.filter((record) => record.trim());
};

const file = document.getElementById("file");
file.addEventListener("change", async () => {
  if (!file.files.length) return;
  const records = recordsOf((await file.files[0].text()).replace(/\r\n/g, "\n"));
  const most = Number(file.dataset.most);
  const cases = Math.max(records.length - 1, 0);
  document.getElementById("table").value = records.slice(0, 1 + most).join("\n");
  document.getElementById("taken").textContent = cases > most
    ? `The file has ${cases.toLocaleString("en")} cases: the first ${most.toLocaleString("en")} are taken.`
    : `${cases.toLocaleString("en")} cases in the file.`;
});
