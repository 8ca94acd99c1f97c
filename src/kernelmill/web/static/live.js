// Follows the workspace: when it changes, the regions marked data-live are fetched again.
"use strict";

const pulse = document.getElementById("pulse");
let known = document.body.dataset.stamp;
let fetching = false;
let again = false;

function say(state, text) {
  pulse.className = `pulse ${state}`;
  if (pulse.textContent !== text) pulse.textContent = text;
}

async function refresh() {
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  try {
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const region of document.querySelectorAll("[data-live]")) {
      const other = fresh.getElementById(region.id);
      if (other && other.innerHTML !== region.innerHTML && !region.contains(document.activeElement)) {
        const checked = [...region.querySelectorAll("input:checked")].map((input) => input.value);
        region.replaceChildren(...other.childNodes);
        for (const input of region.querySelectorAll("input[type=checkbox]")) {
          input.checked = checked.includes(input.value);
        }
      }
    }
    known = fresh.body.dataset.stamp;
    say("live", "live");
  } catch {
    say("lost", "not connected");
  } finally {
    fetching = false;
    if (again) {
      again = false;
      setTimeout(refresh, 500);
    }
  }
}

const source = new EventSource("/events");
source.onopen = () => say("live", "live");
source.onerror = () => say("lost", "not connected");
source.onmessage = (event) => {
  if (event.lastEventId !== known) refresh();
};
addEventListener("pagehide", () => source.close());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  } else if (event.key === "j" || event.key === "k") {
    const rows = [...document.querySelectorAll("[data-row]")];
    const next = rows.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
    if (rows.length) rows[Math.max(0, Math.min(rows.length - 1, next))].focus();
  }
});
