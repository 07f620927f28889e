// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server and its clients in one process: eight keep-alive connections, each of which sends the
 * next request as soon as it has a response.
 */
const http = require('http');

const server = http.createServer((request, response) => {
	const body = [];
	request.on('data', (piece) => body.push(piece));
	request.on('end', () => {
		const asked = JSON.parse(Buffer.concat(body).toString());
		response.setHeader('content-type', 'application/json');
		response.end(JSON.stringify({ ...asked, words: asked.text.split(' ').sort() }));
	});
});
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

function ask(port, number) {
	const text = 'some words that are to be sorted by the server ' + number;
	const request = http.request({ port, agent, method: 'POST' }, (response) => {
		response.on('data', () => {});
		response.on('end', () => ask(port, number + 1));
	});
	request.end(JSON.stringify({ number, text }));
}

server.listen(0, '127.0.0.1', () => {
	for (let client = 0; client < 8; client++)
		ask(server.address().port, client);
});
