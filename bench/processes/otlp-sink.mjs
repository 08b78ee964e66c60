// A collector of traces that takes everything and keeps nothing.
import { createServer } from 'node:http';
import { serve } from '../harness/helper.mjs';

serve({ start });

function start() {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve({ port: server.address().port }));
  });
}
