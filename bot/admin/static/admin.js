// The menu on narrow screens, and the order of models by buttons or by dragging. Everything also works without this file.
"use strict";

document.documentElement.classList.add("js");

const menu = document.querySelector(".menu");
if (menu) {
  const nav = document.getElementById("nav");
  menu.hidden = false;
  menu.addEventListener("click", () => {
    menu.setAttribute("aria-expanded", String(nav.classList.toggle("open")));
  });
}

function announce(list, words) {
  list.parentElement.querySelector("[data-announce]").textContent = words;
}

function nameOf(item) {
  return item.querySelector("input[name=pool]").value;
}

function place(item) {
  return `${nameOf(item)} is number ${[...item.parentElement.children].indexOf(item) + 1} of ${item.parentElement.children.length}. Not saved yet.`;
}

function move(button) {
  const item = button.closest("li"), list = item.parentElement, what = button.value.split(" ")[0];
  if (what === "remove") {
    const next = item.nextElementSibling || item.previousElementSibling;
    if (!next) return announce(list, "A tier needs at least one model.");
    announce(list, `${nameOf(item)} is removed. Not saved yet.`);
    item.remove();
    return next.querySelector("button[name=move]").focus();
  }
  if (what === "up" && item.previousElementSibling) item.previousElementSibling.before(item);
  if (what === "down" && item.nextElementSibling) item.nextElementSibling.after(item);
  button.focus();
  announce(list, place(item));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-sortable] button[name=move]");
  if (!button) return;
  event.preventDefault();
  move(button);
});

let dragged = null;

document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest?.("[data-sortable] > li") ?? null;
  if (dragged) dragged.classList.add("dragged");
});

document.addEventListener("dragover", (event) => {
  const over = event.target.closest?.("[data-sortable] > li");
  if (!dragged || !over || over.parentElement !== dragged.parentElement) return;
  event.preventDefault();
  const box = over.getBoundingClientRect();
  if (over !== dragged) event.clientY < box.top + box.height / 2 ? over.before(dragged) : over.after(dragged);
});

document.addEventListener("dragend", () => {
  if (!dragged) return;
  dragged.classList.remove("dragged");
  announce(dragged.parentElement, place(dragged));
  dragged = null;
});
