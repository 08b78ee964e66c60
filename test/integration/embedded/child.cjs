'use strict';
/**
 * A process that uses the embedded server: `node child.cjs <data dir>`. Says where the server is in one line of JSON.
 * On SIGINT it proves that the server still responds, closes its connection, stops the server and ends.
 */
require('./typescript-hook.cjs');
const { Client } = require('pg');
const { startEmbeddedPostgres } = require('../../../src/database/embedded/embedded-postgres');

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

async function main() {
  const server = await startEmbeddedPostgres({
    dataDir: process.argv[2],
    initdbArguments: ['--no-sync'],
    settings: { fsync: 'off' },
  });
  const client = new Client(server.url);
  client.on('error', (error) => say({ lost: error.message }));
  await client.connect();
  process.once('SIGINT', () => void end(server, client));
  say({ url: server.url, startedHere: server.startedHere, folder: server.folder });
}

async function end(server, client) {
  const { rows } = await client.query('SELECT 1 AS one');
  say({ answeredAfterSignal: rows[0].one === 1 });
  await client.end();
  await server.stop();
  say({ stopped: true });
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
