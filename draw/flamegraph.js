/* SPDX-License-Identifier: GPL-2.0-only */
"use strict";
const find = id => document.getElementById(id);
const area = find("frames"), search = find("search"), reset = find("reset");
const frames = [...area.querySelectorAll("g")].map(g => {
	const [title, rect, text] = g.children;
	return { g, title, rect, text, start: +g.dataset.s, samples: +g.dataset.n,
		y: +rect.getAttribute("y"), label: title.textContent,
		name: title.textContent.slice(0, title.textContent.lastIndexOf("\n")) };
});
const all = frames[0], CHARACTER = 6.6;
let zoomed = all, picked = null, term = "";

const ends = frame => frame.start + frame.samples;
const holds = (frame, other) => frame.y <= other.y && frame.start <= other.start &&
	ends(frame) >= ends(other);

function cut(name, pixels) {
	const room = Math.floor((pixels - 6) / CHARACTER), letters = [...name];
	if (room < 3)
		return "";
	return letters.length <= room ? name : letters.slice(0, room - 2).join("") + "..";
}

function draw() {
	const pixels = document.documentElement.clientWidth || innerWidth;
	for (const frame of frames) {
		const within = holds(zoomed, frame), above = !within && holds(frame, zoomed);
		frame.g.style.display = within || above ? "" : "none";
		frame.g.classList.toggle("above", above);
		if (!within && !above)
			continue;
		const x = above ? 0 : 100 * (frame.start - zoomed.start) / zoomed.samples;
		const width = above ? 100 : 100 * frame.samples / zoomed.samples;
		frame.rect.setAttribute("x", x + "%");
		frame.rect.setAttribute("width", width + "%");
		frame.text.setAttribute("x", x + "%");
		frame.text.textContent = cut(frame.name, width / 100 * pixels);
	}
	reset.hidden = zoomed === all;
}

function zoom(frame) {
	zoomed = frame;
	draw();
}

function matcher(text) {
	try {
		const expression = new RegExp(text, "i");
		return name => expression.test(name);
	} catch {
		return name => name.includes(text);
	}
}

/* Frames come behind their callers: what lies in one that matched is counted with it. */
function look(text) {
	const matches = matcher(text);
	let sum = 0, reached = 0;
	term = text;
	for (const frame of frames) {
		const found = text !== "" && frame !== all && matches(frame.name);
		frame.g.classList.toggle("found", found);
		if (found && frame.start >= reached) {
			sum += frame.samples;
			reached = ends(frame);
		}
	}
	area.classList.toggle("searched", text !== "");
	const share = (100 * sum / all.samples).toFixed(2);
	find("matched").textContent = text === "" ? "" : share + " % matched";
}

function tell(frame) {
	let text = frame ? frame.label.replace("\n", "   ") : " ";
	if (frame && zoomed !== all && holds(zoomed, frame)) {
		const share = (100 * frame.samples / zoomed.samples).toFixed(2);
		text += ", " + share + " % of what is zoomed";
	}
	find("details").textContent = text;
}

function pick(frame) {
	if (!frame)
		return;
	if (picked)
		picked.g.classList.remove("picked");
	picked = frame;
	picked.g.classList.add("picked");
	tell(frame);
}

const shown = frame => holds(zoomed, frame) || holds(frame, zoomed);
const widest = list => list.reduce((a, b) => !a || b.samples > a.samples ? b : a, null);

function step(key) {
	const from = picked || zoomed, row = 16;
	const level = y => frames.filter(frame => frame.y === y && shown(frame));
	if (key === "ArrowDown")
		return widest(level(from.y + row).filter(frame => holds(from, frame)));
	if (key === "ArrowUp")
		return level(from.y - row).find(frame => holds(frame, from));
	if (key === "ArrowRight")
		return level(from.y).find(frame => frame.start >= ends(from));
	return level(from.y).filter(frame => ends(frame) <= from.start).pop();
}

function typed(event) {
	const key = event.key;
	if (key === "Escape" && (term !== "" || event.target === search)) {
		search.value = "";
		search.blur();
		look("");
	} else if (key === "Escape") {
		zoom(all);
	} else if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) {
		return;
	} else if (key === "/") {
		search.focus();
	} else if (key === "Enter" && picked) {
		zoom(picked);
	} else if (key.startsWith("Arrow")) {
		pick(step(key));
	} else {
		return;
	}
	event.preventDefault();
}

const byGroup = new Map(frames.map(frame => [frame.g, frame]));
const of = event => byGroup.get(event.target.closest("g"));
area.addEventListener("click", event => of(event) && zoom(of(event)));
area.addEventListener("mouseover", event => tell(of(event)));
area.addEventListener("mouseleave", () => tell(null));
reset.addEventListener("click", () => zoom(all));
search.addEventListener("input", () => look(search.value));
document.addEventListener("keydown", typed);
window.addEventListener("resize", draw);
draw();
