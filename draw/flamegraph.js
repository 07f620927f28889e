/* SPDX-License-Identifier: GPL-2.0-only */
"use strict";
const find = id => document.getElementById(id);
const root = document.documentElement, area = find("frames"), search = find("search");
const reset = find("reset"), help = find("help");
const ROW = 16, CHARACTER = 6.6, BOTTOM = 24, HELP = 264;
const frames = [...area.querySelectorAll("g")].map(g => {
	const [title, rect, text] = g.children;
	return { g, title, rect, text, start: +g.dataset.s, samples: +g.dataset.n,
		y: +rect.getAttribute("y"), label: title.textContent,
		name: title.textContent.slice(0, title.textContent.lastIndexOf("\n")) };
});
const all = frames[0], bottom = Math.max(...new Set(frames.map(frame => frame.y)));
let zoomed = all, picked = null, term = "", hits = [], covered = "";

/* The same form as in all answers of perftape. */
const percent = share => share === 1 ? "100 %" : share > 0 && share < .0005 ? "<0.1 %" :
	(share < 1 ? Math.min(100 * share, 99.9) : 100 * share).toFixed(1) + " %";

const ends = frame => frame.start + frame.samples;
const holds = (frame, other) => frame.y <= other.y && frame.start <= other.start &&
	ends(frame) >= ends(other);
const helps = () => help.style.display === "inline";
const width = () => root.clientWidth || innerWidth;

function cut(name, pixels) {
	const room = Math.floor((pixels - 6) / CHARACTER), letters = [...name];
	if (room < 3)
		return "";
	return letters.length <= room ? name : letters.slice(0, room - 2).join("") + "..";
}

/* If all frames of a row are narrower than a pixel, so are the frames of all deeper rows. */
function fold(pixels) {
	const least = zoomed.samples / pixels;
	let last = zoomed.y, deepest = zoomed.y;
	for (const frame of frames) {
		if (!holds(zoomed, frame))
			continue;
		deepest = Math.max(deepest, frame.y);
		if (frame.samples >= least)
			last = Math.max(last, frame.y);
	}
	const rows = (deepest - last) / ROW, height = last + ROW + BOTTOM;
	const high = Math.max(height, helps() ? HELP : 0);
	root.setAttribute("height", high);
	find("ground").setAttribute("height", high);
	find("folded").setAttribute("y", height - 8);
	find("folded").textContent = !rows ? "" : rows + " more row" + (rows === 1 ? "" : "s") +
		", of frames narrower than a pixel: zoom in to see them";
	return last;
}

function draw() {
	const pixels = width(), last = fold(pixels);
	for (const frame of frames) {
		const within = holds(zoomed, frame) && frame.y <= last;
		const above = !within && frame !== zoomed && holds(frame, zoomed);
		frame.g.style.display = within || above ? "inline" : "none";
		frame.g.classList.toggle("above", above);
		if (!within && !above)
			continue;
		const x = above ? 0 : 100 * (frame.start - zoomed.start) / zoomed.samples;
		const share = above ? 100 : 100 * frame.samples / zoomed.samples;
		frame.rect.setAttribute("x", x + "%");
		frame.rect.setAttribute("width", share + "%");
		frame.text.setAttribute("x", x + "%");
		frame.text.textContent = cut(frame.name, share / 100 * pixels);
	}
	reset.hidden = zoomed === all;
}

/* The place of a frame: its row and the samples left of it. */
const place = frame => (frame.y - all.y) / ROW + "," + frame.start;

/* A page that embeds the picture may forbid changes of the address. */
function keep(how) {
	const state = new URLSearchParams();
	if (zoomed !== all)
		state.set("zoom", place(zoomed));
	if (term !== "")
		state.set("search", term);
	try {
		history[how](null, "", "#" + state);
	} catch {
		return;
	}
}

function show(frame) {
	zoomed = frame;
	draw();
	tell(picked);
}

function zoom(frame) {
	const other = frame !== zoomed;
	show(frame);
	if (other)
		keep("pushState");
}

function restore() {
	const state = new URLSearchParams(location.hash.slice(1)), at = state.get("zoom");
	const text = state.get("search") || "";
	show(frames.find(frame => place(frame) === at) || all);
	search.value = text;
	mark(text);
}

function matcher(text) {
	try {
		const expression = new RegExp(text, "i");
		return name => expression.test(name);
	} catch {
		return name => name.includes(text);
	}
}

/* Frames follow their callers. A matching frame counts with all frames inside it, so skip these. */
function mark(text) {
	const matches = matcher(text);
	let sum = 0, reached = 0;
	term = text;
	hits = frames.filter(frame => text !== "" && frame !== all && matches(frame.name));
	for (const frame of frames)
		frame.g.classList.remove("found");
	for (const frame of hits) {
		frame.g.classList.add("found");
		if (frame.start >= reached) {
			sum += frame.samples;
			reached = ends(frame);
		}
	}
	hits.sort((a, b) => b.samples - a.samples);
	area.classList.toggle("searched", text !== "");
	covered = percent(sum / all.samples) + " matched";
	find("matched").textContent = text === "" ? "" : covered;
}

function look(text) {
	mark(text);
	keep("replaceState");
}

const drawn = frame => holds(zoomed, frame) && frame.samples / zoomed.samples * width() >= 1;

/* Zooms out until a frame is in the picture, or in until it is wide enough to be seen. */
function reveal(frame) {
	if (drawn(frame))
		return;
	const callers = frames.filter(other => holds(other, frame));
	zoom(callers.find(other => frame.samples / other.samples * width() >= 12) || frame);
}

/* The widest hit is the first. */
function walk(by) {
	if (!hits.length)
		return;
	const at = hits.indexOf(picked), from = at >= 0 ? at : by > 0 ? -1 : 0;
	const next = (from + by + hits.length) % hits.length;
	reveal(hits[next]);
	pick(hits[next]);
	find("matched").textContent = "hit " + (next + 1) + " of " + hits.length + ", " + covered;
}

function tell(frame) {
	let text = frame ? frame.label.replace("\n", "   ") : " ";
	if (frame && zoomed !== all && holds(zoomed, frame)) {
		const share = percent(frame.samples / zoomed.samples);
		text += ", " + share + " of what is zoomed";
	}
	find("details").textContent = text;
}

/* One frame at a time takes part in the walk with the Tab key: there may be thousands. */
function pick(frame) {
	if (!frame)
		return;
	for (const other of [all, picked])
		if (other) {
			other.g.classList.remove("picked");
			other.g.removeAttribute("tabindex");
		}
	picked = frame;
	picked.g.classList.add("picked");
	picked.g.setAttribute("tabindex", "0");
	picked.g.focus({ preventScroll: true });
	picked.rect.scrollIntoView({ block: "nearest", inline: "nearest" });
	tell(frame);
}

const shown = frame => frame.g.style.display !== "none";
const widest = list => list.reduce((a, b) => !a || b.samples > a.samples ? b : a, null);

function step(key) {
	const from = picked && shown(picked) ? picked : zoomed;
	const level = y => frames.filter(frame => frame.y === y && shown(frame));
	if (key === "ArrowDown")
		return widest(level(from.y + ROW).filter(frame => holds(from, frame)));
	if (key === "ArrowUp")
		return level(from.y - ROW).find(frame => holds(frame, from));
	if (key === "ArrowRight")
		return level(from.y).find(frame => frame.start >= ends(from));
	return level(from.y).filter(frame => ends(frame) <= from.start).pop();
}

function showHelp(on) {
	help.style.display = on ? "inline" : "none";
	fold(width());
	find("keys").setAttribute("aria-expanded", on);
}

function escape() {
	if (helps()) {
		showHelp(false);
	} else if (term !== "" || document.activeElement === search) {
		search.value = "";
		search.blur();
		look("");
	} else {
		zoom(all);
	}
}

const keys = {
	"/": () => search.focus(),
	"?": () => showHelp(!helps()),
	n: () => walk(1),
	N: () => walk(-1),
	Home: () => zoom(all),
	Enter: () => picked && zoom(picked),
};

function typed(event) {
	const key = event.key;
	if (key === "Escape") {
		escape();
	} else if (event.target === search && key === "Enter") {
		search.blur();
		walk(event.shiftKey ? -1 : 1);
	} else if (event.target === search || event.ctrlKey || event.metaKey || event.altKey ||
		event.target.localName === "button") {
		return;
	} else if (key.startsWith("Arrow")) {
		pick(step(key));
	} else if (Object.hasOwn(keys, key)) {
		keys[key]();
	} else {
		return;
	}
	event.preventDefault();
}

const byGroup = new Map(frames.map(frame => [frame.g, frame]));
const of = event => byGroup.get(event.target.closest("g"));
area.addEventListener("click", event => of(event) && zoom(of(event)));
area.addEventListener("mouseover", event => tell(of(event)));
area.addEventListener("mouseleave", () => tell(picked));
area.addEventListener("focusin", event => of(event) !== picked && pick(of(event)));
reset.addEventListener("click", () => zoom(all));
find("keys").addEventListener("click", () => showHelp(!helps()));
search.addEventListener("input", () => look(search.value));
document.addEventListener("keydown", typed);
window.addEventListener("resize", draw);
window.addEventListener("popstate", restore);
window.addEventListener("hashchange", restore);
find("controls").style.display = "inline";
restore();
