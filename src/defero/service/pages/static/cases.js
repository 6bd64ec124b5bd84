// A CSV file goes into the text field, as many lines as a request may hold.
"use strict";

const file = document.getElementById("file");
file.addEventListener("change", async () => {
  if (!file.files.length) return;
  const lines = (await file.files[0].text()).split(/\r?\n/).filter((line) => line.trim());
  document.getElementById("table").value = lines.slice(0, 1 + Number(file.dataset.most)).join("\n");
});
